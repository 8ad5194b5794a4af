// The keys. They do nothing while somebody types or while a dialog is open; single letters can be switched off.
import { heal, play } from "./state.js";
import { fire, kill, pauseOrResume } from "./fire.js";
import { go } from "./tour.js";
import { helping, letters } from "./bar.js";
import { isStage, KEYS } from "./stage.js";

const DO = isStage ? KEYS : {
  f: fire, b: () => play("broken"), x: () => play("fixed"), h: () => play("here"), k: kill, p: pauseOrResume, r: heal,
  ArrowLeft: () => go(-1), ArrowRight: () => go(1), "?": () => { helping.value = true; },
};

export function listen() {
  addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || helping.value) return;
    if (event.key.length === 1 && !letters.value) return;
    if (event.target.closest?.("input, select, textarea, dialog")) return;
    if (!isStage && event.key.startsWith("Arrow") && event.target.closest?.("pre, .scroll, .lanes")) return; // these scroll
    const known = DO[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!known) return;
    event.preventDefault();
    known();
  });
}
