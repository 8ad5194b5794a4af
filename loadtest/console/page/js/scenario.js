// The scenario of free play, also as a command line.
import { computed, html, signal } from "./ui.js";
import { form, state } from "./state.js";

// settings are the settings of "loadtest fire", as the server has them: name, flag, label, says, most and unit.
export const settings = computed(() => (form.value?.settings || []).filter((one) => one.label));

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

// command is the command line of a scenario: the same on a new stack or, for an attached console, only the load.
export function command(of, attached = state.mode.value === "attached") {
  const words = [`${form.value?.program || "bin/loadtest"} ${attached ? "fire" : "run"}`];
  if (of.path && of.path !== "order") words.push(`--path ${of.path}`);
  for (const { name, flag, unit } of settings.value) {
    if (name === "trace_sample" && !attached) continue; // nobody receives the spans of "run"
    if (of[name] > 0 || name === "repeat") words.push(`--${flag} ${of[name] ?? 0}${unit}`);
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
