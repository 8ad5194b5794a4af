// The bar that is always visible: the console's activity, heal all, the theme, the keys.
import { Button, html, noted, say, signal, t, useEffect, useRef, useValue } from "./ui.js";
import { otherLanguage, otherName, speak } from "./text.js";
import { connection, halt, heal, running, state, whyNotBreak } from "./state.js";

const LOOKS = { auto: t`auto`, light: t`light`, dark: t`dark` };
const THEMES = { auto: t`as in the system`, light: t`light`, dark: t`dark` };
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
  connecting: t`connecting …`, lost: t`Connection lost; trying again.`,
  silent: t`The console does not answer: this is an old state.`, asleep: t`asleep while the tab was hidden`,
  refused: t`No entry: open the address that the console printed when it started.`,
};
const PHASES = { starting: t`starting the servers`, idle: t`ready`, firing: t`orders are running`,
  settling: t`waiting for the last orders`, judging: t`judging` };

// Status says what the console does, or that it is not heard.
export function Status() {
  const online = useValue(connection);
  const phase = useValue(state.phase);
  const doing = useValue(state.doing);
  const attached = useValue(state.mode) === "attached";
  if (online !== "open") return html`<p class="status ${online}" role="status">${WORDS[online]}</p>`;
  return html`<p class="status open" role="status"><span class="dot ${phase}" aria-hidden="true"></span> ${say(doing) || PHASES[phase] || phase}
    ${attached ? html` <small>· ${t`watching a stack that runs elsewhere`}</small>` : null}</p>`;
}

export function Bar() {
  const look = useValue(theme);
  const isRunning = useValue(running);
  const whyNot = useValue(whyNotBreak);
  const broken = useValue(state.faults).filter((fault) => fault.status !== "healed").length;
  return html`
    <header class="bar">
      <a class="mark" href="#app">orderstock</a>
      <${Status} />
      ${isRunning ? html`<${Button} onClick=${halt}>${t`Stop`}<//>` : null}
      <${Button} class=${broken ? "armed" : ""} why=${whyNot} keys="R" onClick=${heal}>${t`Heal all`}${broken ? html` <b>${broken}</b>` : null}<//>
      <button type="button" class="theme" onClick=${nextTheme} aria-label=${t`Colours: ${LOOKS[look]}`}
        title=${t`Colours: ${THEMES[look]}`}><span aria-hidden="true">◐</span><span class="look"> ${LOOKS[look]}</span></button>
      <button type="button" class="language" lang=${otherLanguage} onClick=${() => speak(otherLanguage)}>${otherName}</button>
      <button type="button" class="keys" aria-label=${t`Keys`} onClick=${() => { helping.value = true; }}><span aria-hidden="true">?</span></button>
    </header>`;
}

export const KEYS = [
  ["B", t`play the chosen fault, broken`], ["X", t`play it fixed, with the same seed`], ["H", t`play the product as it runs here, with the same seed`], ["F", t`fire the scenario of free play`],
  ["K", t`kill the chosen replica`], ["P", t`pause the chosen replica, or let it go on`], ["R", t`heal all`],
  ["←  →", t`the tour, back and forth; in a chart, the cursor`], ["?", t`this list`],
];

export function Help() {
  const open = useValue(helping);
  const act = useValue(letters);
  const ref = useRef(null);
  const call = html`<code>POST /api/play</code>`;
  useEffect(() => {
    if (open && !ref.current.open) ref.current.showModal();
    if (!open && ref.current.open) ref.current.close();
  }, [open]);
  return html`
    <dialog ref=${ref} class="help" aria-labelledby="help-title" onClose=${() => { helping.value = false; }}>
      <h2 id="help-title">${t`Keys`}</h2>
      <dl>${KEYS.map(([key, says]) => html`<div key=${key}><dt><kbd>${key}</kbd></dt><dd>${says}</dd></div>`)}</dl>
      <label class="line"><input type="checkbox" name="letters" checked=${act} onChange=${(event) => switchLetters(event.target.checked)} /> ${t`Single-letter keys act`}</label>
      <p>${t`Everything here is a call that you can make yourself, such as ${call}: your browser's network tools show each.`}</p>
      <p>${t`With ?stage in its address, this page is a slide: both sides of a fault for a room, played by B and F.`}</p>
      <button type="button" autofocus onClick=${() => { helping.value = false; }}>${t`Close`}</button>
    </dialog>`;
}

export function Note() {
  const { text, bad } = useValue(noted);
  return html`<div class="note ${bad ? "wrong" : ""}" role=${bad ? "alert" : "status"}>${text}</div>`;
}
