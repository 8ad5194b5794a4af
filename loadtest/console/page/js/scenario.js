// The scenario of free play, also as a command line.
import { computed, html, signal } from "./ui.js";
import { form, state } from "./state.js";

// FIELDS are the settings of "loadtest fire": name in a Scenario, flag, label, explanation, step, unit.
export const FIELDS = [
  ["orders", "orders", "Orders", "how many orders are sent", 1],
  ["concurrency", "concurrency", "Buyers", "how many clients send at the same time", 1],
  ["goods", "goods", "Products", "how many products there are", 1],
  ["stock", "stock", "Pieces of each", "how many pieces of each product there are", 1],
  ["rate", "rate", "Orders a second", "0 sends each order as soon as a buyer is free", "any"],
  ["duration_s", "duration", "Seconds", "end after that time; 0 goes by the number of orders", "any", "s"],
  ["warmup_s", "warmup", "Warm-up seconds", "sent and judged, but not measured", "any", "s"],
  ["items_max", "items-max", "Products in an order", "at most", 1],
  ["num_max", "num-max", "Pieces in a line", "at most", 1],
  ["zipf", "zipf", "Crowding", "0: all products are equally popular; 1 and more: a few are most popular (Zipf)", "any"],
  ["repeat", "repeat", "Sent again", "share of orders sent again under the same key, 0 to 1", "any"],
  ["cancel", "cancel", "Cancelled", "share of orders cancelled, 0 to 1", "any"],
  ["timeout_s", "timeout", "Patience in seconds", "of each call; 0: 12 s", "any", "s"],
  ["settle_s", "settle", "Seconds to settle", "how long orders may take to end after the last answer; 0: 20 s", "any", "s"],
  ["trace_sample", "trace-sample", "Traced", "share of orders of which every step is recorded, 0 to 1; 0: 0.01", "any"],
];

// changes is what differs from the server's defaults.
export const changes = signal({});

export const defaults = computed(() => ({ path: "order", strategy: "", seed: "", faults: [], ...(form.value?.defaults || {}) }));
export const scenario = computed(() => ({ ...defaults.value, ...changes.value, faults: changes.value.faults || [] }));

export function change(part) {
  const next = { ...changes.value, ...part };
  for (const [name, value] of Object.entries(next)) {
    if (name !== "faults" && String(value) === String(defaults.value[name] ?? "")) delete next[name];
  }
  if (!next.faults?.length) delete next.faults;
  changes.value = next;
}
export const reset = () => { changes.value = {}; };

// faultWords describes a planned fault.
export const faultWords = (fault) => [fault.action, fault.target, fault.wire && `→ ${fault.wire}`, fault.when, fault.step].filter(Boolean).join(" ");

// The seconds that the console waits for each call unless the scenario says; the commands wait longer.
const PATIENCE = 12;

// command is the command line of a scenario: the same on a new stack or, for an attached console, only the load.
export function command(of, attached = state.mode.value === "attached") {
  const words = [`${form.value?.program || "bin/loadtest"} ${attached ? "fire" : "run"}`];
  if (of.path && of.path !== "order") words.push(`--path ${of.path}`);
  const all = { ...of, repeat: of.repeat ?? 0, timeout_s: of.timeout_s || PATIENCE };
  for (const [name, flag, , , , unit] of FIELDS) {
    if (name === "trace_sample" && !attached) continue; // nobody receives the spans of "play"
    if (all[name] > 0 || name === "repeat") words.push(`--${flag} ${all[name]}${unit || ""}`);
  }
  if (of.seed) words.push(`--seed ${of.seed}`);
  if (attached) return words.join(" ");
  if (of.strategy) words.push(`--strategy ${of.strategy}`);
  for (const fault of of.faults || []) words.push(`--break '${breakWords(fault)}'`);
  return words.join(" ");
}

// flags is a command line that breaks between its flags, and not within one.
export const flags = (text) => text.split(/ (?=--)/).map((word, i) => html`<span key=${i}>${word}</span> `);

// breakWords writes a planned fault as the flag --break takes it.
const breakWords = (fault) => [`${fault.after_ms || 0}ms`, fault.action, fault.target, fault.wire && `to ${fault.wire}`, fault.step && `${fault.when} ${fault.step}`]
  .filter(Boolean).join(" ");
