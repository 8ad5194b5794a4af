// The bar that is always visible: the console's activity, heal all, the theme, the keys.
import { Button, html, noted, signal, useEffect, useRef, useValue } from "./ui.js";
import { connection, halt, heal, running, state, whyNotBreak } from "./state.js";

const THEMES = { auto: "as in the system", light: "light", dark: "dark" };
export const theme = signal(localStorage.getItem("theme") || "auto");

export function keepTheme() {
  document.documentElement.dataset.theme = theme.value;
}

function nextTheme() {
  const names = Object.keys(THEMES);
  theme.value = names[(names.indexOf(theme.value) + 1) % names.length];
  localStorage.setItem("theme", theme.value);
  keepTheme();
}

export const helping = signal(false);

// letters says whether single-letter keys act. Speech input types letters that nobody meant.
export const letters = signal(localStorage.getItem("letters") !== "off");

function switchLetters(on) {
  letters.value = on;
  localStorage.setItem("letters", on ? "on" : "off");
}

const WORDS = {
  connecting: "connecting …", lost: "Connection lost; trying again.",
  silent: "The console does not answer: this is an old state.", asleep: "asleep while the tab was hidden",
  refused: "No entry: open the address that the console printed when it started.",
};
const PHASES = { starting: "starting the servers", idle: "ready", firing: "orders are running",
  settling: "waiting for the last orders", judging: "judging" };

export function Bar() {
  const online = useValue(connection);
  const phase = useValue(state.phase);
  const doing = useValue(state.doing);
  const mode = useValue(state.mode);
  const look = useValue(theme);
  const isRunning = useValue(running);
  const whyNot = useValue(whyNotBreak);
  const broken = useValue(state.faults).filter((fault) => fault.status !== "healed").length;
  return html`
    <header class="bar">
      <a class="mark" href="#app">orderstock</a>
      <p class="status ${online}" role="status">
        ${online === "open" ? html`<span class="dot ${phase}" aria-hidden="true"></span> ${doing || PHASES[phase] || phase}` : WORDS[online]}
        ${online === "open" && mode === "attached"
          ? html` <small>· watching a stack that runs elsewhere</small>` : null}
      </p>
      ${isRunning ? html`<${Button} onClick=${halt}>Stop<//>` : null}
      <${Button} class=${broken ? "armed" : ""} why=${whyNot} keys="R" onClick=${heal}>Heal all${broken ? html` <b>${broken}</b>` : null}<//>
      <button type="button" class="theme" onClick=${nextTheme} aria-label="Colours: ${look}"
        title=${`Colours: ${THEMES[look]}`}><span aria-hidden="true">◐</span><span class="look"> ${look}</span></button>
      <button type="button" class="keys" aria-label="Keys" onClick=${() => { helping.value = true; }}><span aria-hidden="true">?</span></button>
    </header>`;
}

export const KEYS = [
  ["B", "play the chosen fault, broken"], ["X", "play it fixed, with the same seed"], ["F", "fire the scenario of free play"],
  ["K", "kill the chosen replica"], ["P", "pause the chosen replica, or let it go on"], ["R", "heal all"],
  ["←  →", "the tour, back and forth; in a chart, the cursor"], ["?", "this list"],
];

export function Help() {
  const open = useValue(helping);
  const act = useValue(letters);
  const ref = useRef(null);
  useEffect(() => {
    if (open && !ref.current.open) ref.current.showModal();
    if (!open && ref.current.open) ref.current.close();
  }, [open]);
  return html`
    <dialog ref=${ref} class="help" aria-labelledby="help-title" onClose=${() => { helping.value = false; }}>
      <h2 id="help-title">Keys</h2>
      <dl>${KEYS.map(([key, says]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${says}</dd></div>`)}</dl>
      <label class="line"><input type="checkbox" name="letters" checked=${act} onChange=${(event) => switchLetters(event.target.checked)} /> Single-letter keys act</label>
      <p>Everything here is a call that you can make yourself, such as <code>POST /api/play</code>: your browser's network tools show each.</p>
      <button type="button" autofocus onClick=${() => { helping.value = false; }}>Close</button>
    </dialog>`;
}

export function Note() {
  const { text, bad } = useValue(noted);
  return html`<div class="note ${bad ? "wrong" : ""}" role=${bad ? "alert" : "status"}>${text}</div>`;
}
