// The state of the console as the server sent it: one signal for each part.
// Nothing here is made up by the page.
import { batch, computed, note, notNow, signal, t } from "./ui.js";
import { act, get } from "./api.js";

const EMPTY = {
  mode: "", can: { play: "", break: "", flags: "" }, phase: "", doing: "", run: null, hero: null, scene: null, compare: null,
  replicas: [], servers: [], edges: {}, faults: [], books: { rows: [], wrong: "" }, statuses: {}, commits: {},
  lock: null, verdict: null, samples: [], log: [], runs: [], recent: [],
};

// What the server keeps, too: the samples of ten minutes, and the last lines of the log.
const [MOST_SAMPLES, MOST_LINES] = [2400, 500];

export const state = Object.fromEntries(Object.entries(EMPTY).map(([name, value]) => [name, signal(value)]));

// connection is "connecting", "open", "silent", "lost", "refused" or "asleep".
export const connection = signal("connecting");

// The constants: the faults, the tour, the form's values. null until loaded.
export const published = signal(null);
export const tour = signal(null);
export const form = signal(null);

// offline says why nothing can be asked of the console; "" if it can.
export const offline = computed(() => ({ open: "",
  connecting: t`the page is still connecting to the console`, silent: t`the console does not answer` })[connection.value]
  ?? t`the connection to the console is lost`);
// busy says why nothing new can be started; "" if it can.
export const busy = computed(() => {
  if (offline.value) return offline.value;
  const words = { starting: t`the servers are starting`, firing: t`a run is going on`,
    settling: t`the last orders have not ended yet`, judging: t`the run is being judged` };
  return words[state.phase.value] || "";
});
export const whyNotPlay = computed(() => state.can.value.play || busy.value);
export const whyNotFire = busy;
export const whyNotBreak = computed(() => state.can.value.break || offline.value);
// Whether there is a run to stop. Starting its services is a part of a run.
export const running = computed(() => ["firing", "settling", "judging"].includes(state.phase.value) ||
  (state.phase.value === "starting" && state.run.value != null && !state.verdict.value));

// The fault that Broken and Fixed play, by its letter.
export const chosen = signal("A");
// Which of the two was played last; "" for neither. A link that is opened only offers it.
export const variant = signal("");
export const offered = signal("");
export const brokenByHand = computed(() => state.faults.value.some((fault) => fault.by_hand));
export const chosenFault = computed(() => (published.value || []).find((fault) => fault.letter === chosen.value) || null);
export function choose(letter) {
  if (letter !== chosen.value) variant.value = offered.value = "";
  chosen.value = letter;
}
// The replica that K and P strike.
export const victim = signal("stock-1");

// The runs laid over the charts, as GET /api/runs/{id} answered.
export const overlays = signal([]);

function put(part) {
  batch(() => {
    for (const [name, value] of Object.entries(part)) {
      if (state[name]) state[name].value = value ?? EMPTY[name];
    }
  });
}

async function load(path, into) {
  if (into.value) return;
  try { into.value = await get(path); } catch { into.value = null; /* asked again with the next snapshot */ }
}

const on = {
  snapshot(data) {
    put({ ...EMPTY, ...data });
    connection.value = "open";
    load("api/faults", published);
    load("api/tour", tour);
    load("api/form", form);
  },
  state: put,
  sample(data) { state.samples.value = [...state.samples.value.slice(1 - MOST_SAMPLES), data]; },
  beat() {}, // it was heard
  log(data) { state.log.value = [...state.log.value.slice(1 - MOST_LINES), data]; },
};

// The server sends something every two seconds. After three times that, the page says that it shows an old state.
const SILENCE = 6000;

// follow keeps the state fresh while the page can be seen.
export function follow() {
  let source = null;
  let retry = 0;
  let silence = 0;
  const heard = () => {
    clearTimeout(silence);
    silence = setTimeout(() => { connection.value = "silent"; }, SILENCE);
    if (connection.value === "silent") connection.value = "open";
  };
  const close = () => {
    clearTimeout(retry);
    clearTimeout(silence);
    source?.close();
    source = null;
  };
  const open = () => {
    if (source || document.hidden) return;
    source = new EventSource("api/events");
    for (const [name, take] of Object.entries(on)) source.addEventListener(name, (event) => {
      heard();
      take(JSON.parse(event.data));
    });
    source.onerror = async () => {
      clearTimeout(silence);
      if (connection.value !== "refused") connection.value = "lost";
      if (source?.readyState !== EventSource.CLOSED) return; // it connects again by itself
      close();
      const answer = await fetch("api/state").catch(() => null);
      if (answer?.status === 401 || answer?.status === 403) connection.value = "refused";
      retry = setTimeout(open, 2000);
    };
  };
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) return open();
    close();
    connection.value = "asleep";
  });
  open();
}

// play fires orders at a published fault or, with the same seed, at the product without it.
export async function play(which, letter = chosen.value) {
  if (whyNotPlay.value) return note(notNow(whyNotPlay.value));
  chosen.value = letter;
  variant.value = which;
  offered.value = "";
  const last = state.run.value;
  const seed = last && last.fault === letter && last.variant !== which && last.seed ? { seed: last.seed } : {};
  await act("api/play", { fault: letter, variant: which, ...seed });
}

export const heal = () => act("api/heal", {});
export const halt = () => act("api/stop", {});
