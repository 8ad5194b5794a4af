// How numbers and times read. Pure functions without imports.

// count writes a whole number with commas.
export const count = (n) => (n ?? 0).toLocaleString("en-US", { maximumFractionDigits: 0 });

// rate writes a number of things each second, with one decimal while it is small.
export const rate = (n) => (n ?? 0).toLocaleString("en-US", { maximumFractionDigits: n < 100 ? 1 : 0 });

// span writes a number of milliseconds in the unit that fits.
export const span = (ms) => {
  if (ms == null) return "–";
  if (ms === 0) return "0 s";
  if (ms < 1) return `${Math.round(ms * 1000)} µs`;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 60000) return `${(ms / 1000).toFixed(ms < 10000 ? 2 : 1)} s`;
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
};

// short writes milliseconds for an axis, with nothing behind the point that is zero.
export const short = (ms) => (ms ? span(ms).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " ") : "0");

// since writes a time relative to the start of the run.
export const since = (ms) => `${ms < 0 ? "−" : "+"}${(Math.abs(ms ?? 0) / 1000).toFixed(2)} s`;

// clock writes the time of day of an RFC 3339 time, in the reader's zone.
export const clock = (at) => {
  const date = new Date(at);
  if (isNaN(date)) return "–";
  const pad = (n, width = 2) => String(n).padStart(width, "0");
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${pad(date.getMilliseconds(), 3)}`;
};

// day writes date and time to the second.
export const day = (at) => {
  const date = new Date(at);
  return isNaN(date) ? "–" : `${date.toLocaleDateString("sv-SE")} ${clock(at).slice(0, 8)}`;
};

// tail keeps the end of a long token or name.
export const tail = (text, length = 6) => (text && text.length > length + 1 ? `…${text.slice(-length)}` : text || "–");

// SIGNS gives the sign and the class of each word a verdict can have.
const SIGNS = {
  PASS: ["✓", "good"],
  VIOLATION: ["✗", "bad"],
  UNKNOWN: ["?", "unsure"],
  RUNNING: ["…", "running"],
  "WRONG SO FAR": ["✗", "bad"],
  "NOT JUDGED": ["○", "unsure"],
  "NOT CAUGHT THIS TIME": ["○", "unsure"],
  SLOW: ["◔", "unsure"],
};

export const sign = (word) => SIGNS[(word || "").toUpperCase()] || ["?", "unsure"];
