// The left column: the published faults A to Q, and free play.
import { Button, Empty, html, inLanguage, say, signal, t, useValue } from "./ui.js";
import { published, choose, chosen, play, state, whyNotPlay } from "./state.js";
import { sign } from "./format.js";
import { FreePlay } from "./fire.js";

export const tab = signal("faults");
const folded = signal(false);

// Seen shows what came of the latest run of a variant.
function Seen({ runs, letter, variant }) {
  const run = runs.find((one) => one.fault === letter && one.variant === variant);
  if (!run) return null;
  const [mark, kind] = sign(run.word);
  const word = say(run.word.toLowerCase());
  return html`<span class="seen ${kind}" title=${t`${say(variant)}, last time: ${word}`}><span aria-hidden="true">${mark}</span><span class="hidden">${say(variant)}: ${word}</span></span>`;
}

// Changes lists all in which a variant's services differ from the product.
function Changes({ of, words }) {
  if (!of?.length) return null;
  return html`<p>${words}</p><ul class="changes">${of.map((one) => html`<li key=${one.name}>${say(one.says)} <small>${one.name}</small></li>`)}</ul>`;
}

// said translates a line of pseudocode, which is indented, or its remark.
const said = (line) => line.replace(/\S.*/, (text) => say(text));

// Idea is a published mistake as pseudocode, its remarks apart.
export const Idea = ({ of }) => html`<pre class="idea" tabindex="0" aria-label=${t`The published idea`}>${of.trim().split("\n").map((line, i) => {
  const [code, remark] = line.split(/\s*(\/\/.*)/);
  return html`<span key=${i}>${said(code)}${remark ? html`<i>${code.trim() ? "  " : ""}${said(remark)}</i>` : null}${"\n"}</span>`;
})}</pre>`;

// Code names the code that brings a fault back, the tests that keep it away, and its page.
function Code({ of }) {
  const one = ({ name, file }) => html`<li key=${name}><code title=${file}>${name}</code> <small>${file}</small></li>`;
  return html`
    <p class="page-of"><a href="faults/${inLanguage(`${of.letter.toLowerCase()}.md`)}">${t`A recorded run of both, step by step`}</a></p>
    <details><summary>${t`Code and tests`}</summary>
      <p>${t`This brings it back:`}</p><ul class="changes">${one(of.source)}</ul>
      <p>${t`These tests keep it away:`}</p><ul class="changes">${of.tests.map(one)}</ul></details>`;
}

function Fault({ fault, open, runs, why, notHere }) {
  const id = `fault-${fault.letter}`;
  return html`
    <li class=${open ? "open" : ""}>
      <button type="button" class="row" aria-expanded=${open ? "true" : "false"} aria-controls=${id} onClick=${() => { folded.value = open; choose(fault.letter); }}>
        <b class="letter">${fault.letter}</b> <span>${say(fault.title)}</span>
        <span class="marks"><${Seen} runs=${runs} letter=${fault.letter} variant="broken" /><${Seen} runs=${runs} letter=${fault.letter} variant="fixed" /><${Seen} runs=${runs} letter=${fault.letter} variant="here" /></span>
      </button>
      ${open ? html`<div id=${id} class="detail">
        <p>${say(fault.says)}</p>
        <${Idea} of=${fault.idea} />
        ${fault.fix ? html`<p class="fix">${t`Here: ${say(fault.fix)}`}</p>` : null}
        <${Changes} of=${fault.broken_changes} words=${t`Broken changes:`} />
        ${fault.lesson ? html`<p>${say(fault.lesson)}</p>` : null}
        ${fault.fixed_changes?.length ? html`<${Changes} of=${fault.fixed_changes} words=${t`Fixed changes:`} />` : html`<p>${t`Fixed is the product.`}</p>`}
        <div class="two">
          <${Button} class="broken" why=${why} onClick=${() => play("broken", fault.letter)}>${t`Broken`}<//>
          <${Button} class="fixed" why=${why} onClick=${() => play("fixed", fault.letter)}>${t`Fixed`}<//>
          <${Button} class="here" why=${why} onClick=${() => play("here", fault.letter)}>${t`As it runs here`}<//>
        </div>
        ${!fault.rate && fault.fixed.says ? html`<p>${t`Fixed: ${say(fault.fixed.says)}.`}</p>` : null}
        <${Code} of=${fault} />
        ${notHere ? html`<p class="why">${say(notHere)}</p>` : fault.rate ? html`<p class="why">${t`It costs time, not tickets: the two rates stand side by side.`}</p>` : null}
      </div>` : null}
    </li>`;
}

function Faults() {
  const list = useValue(published);
  const open = useValue(chosen);
  const isFolded = useValue(folded);
  const runs = useValue(state.runs);
  const why = useValue(whyNotPlay);
  const notHere = useValue(state.can).play;
  if (!list) return html`<${Empty}>${t`The list of published faults is loading.`}<//>`;
  return html`<ul class="faults">${list.map((fault) => html`<${Fault} key=${fault.letter} fault=${fault} open=${open === fault.letter && !isFolded} runs=${runs} why=${why} notHere=${notHere} />`)}</ul>`;
}

export function Controls() {
  const shown = useValue(tab);
  const button = (name, words) => html`<button type="button" role="tab" id="tab-${name}" aria-selected=${shown === name ? "true" : "false"}
    tabindex=${shown === name ? 0 : -1} aria-controls="controls-body" onClick=${() => { tab.value = name; }}>${words}</button>`;
  const onKeyDown = (event) => {
    if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.stopPropagation();
    tab.value = shown === "faults" ? "free" : "faults";
    document.getElementById(`tab-${tab.value}`).focus();
  };
  return html`
    <section class="controls" aria-label=${t`Faults and free play`}>
      <h2 class="hidden">${t`Faults and free play`}</h2>
      <div role="tablist" class="tabs" aria-label=${t`What to do`} onKeyDown=${onKeyDown}>${button("faults", t`Published faults`)}${button("free", t`Free play`)}</div>
      <div role="tabpanel" id="controls-body" aria-labelledby="tab-${shown}" tabindex="-1">${shown === "faults" ? html`<${Faults} />` : html`<${FreePlay} />`}</div>
    </section>`;
}
