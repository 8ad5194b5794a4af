// The address bar holds the page's state, so that a link shares it: free play, the chosen fault, the tour's stop.
import { batch, effect } from "./ui.js";
import { chosen, offered, variant } from "./state.js";
import { changes } from "./scenario.js";
import { tab } from "./faults.js";
import { at } from "./tour.js";

// The settings of free play that are no numbers, and what is not of free play.
const TEXTS = ["path", "strategy", "seed"];
const OTHERS = ["fault", "variant", "stop"];
const FAULT = ["action", "target", "step", "when", "wire", "after_ms"];

// A link may come from anybody, and its texts end up in a command line: nothing in them means anything to a shell.
const plain = (text) => /^[\w.-]*$/.test(text);

// read applies the address. It fires nothing.
function read() {
  const query = new URLSearchParams(location.hash.slice(1));
  const found = {};
  for (const [name, text] of query) {
    if (![...TEXTS, ...OTHERS].includes(name) && plain(name) && text !== "" && Number.isFinite(Number(text))) found[name] = Number(text);
  }
  for (const name of TEXTS) if (query.has(name) && plain(query.get(name))) found[name] = query.get(name);
  const faults = query.getAll("fault").filter((text) => text.includes("~")).map((text) => text.split("~")).filter((parts) => parts.every(plain))
    .map((parts) => Object.fromEntries(FAULT.map((name, i) => [name, name === "after_ms" ? Number(parts[i]) || 0 : parts[i] || ""])));
  if (faults.length) found.faults = faults;
  const letter = query.getAll("fault").find((text) => /^[A-Q]$/.test(text));
  batch(() => {
    changes.value = found;
    if (Object.keys(found).length) tab.value = "free";
    if (letter) chosen.value = letter;
    variant.value = offered.value = ["broken", "fixed", "here"].find((name) => name === query.get("variant")) || "";
    at.value = Math.max(0, Math.trunc(query.get("stop")) - 1 || 0);
  });
}

function write() {
  const query = new URLSearchParams();
  const of = changes.value;
  for (const [name, value] of Object.entries(of)) if (name !== "faults") query.set(name, value);
  for (const fault of of.faults || []) query.append("fault", FAULT.map((name) => fault[name] ?? "").join("~"));
  if (variant.value || chosen.value !== "A") query.append("fault", chosen.value);
  if (variant.value) query.set("variant", variant.value);
  if (at.value) query.set("stop", at.value + 1);
  const hash = query.toString();
  if (hash !== location.hash.slice(1)) history.replaceState(null, "", location.pathname + location.search + (hash ? `#${hash}` : ""));
}

// keepInAddress reads the address, also when somebody edits it, and writes what changes. A hash without "=" is
// only a place on the page.
export function keepInAddress() {
  if (location.hash.includes("=")) read();
  effect(write);
  addEventListener("hashchange", () => {
    if (location.hash.includes("=")) read();
    write();
  });
}
