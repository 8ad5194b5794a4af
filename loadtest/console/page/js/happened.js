// What happened: the steps of those that met, side by side, as the server picked them from the run's events.
import { html, say, t, useValue } from "./ui.js";
import { state } from "./state.js";

// words are the server's, with the numbers of orders and the ends of ids in one piece.
const words = (text) => say(text).replace(/…(?=\d)/g, "…\u2060").replace(/no\. (?=\d)/g, "no.\u00a0");

const time = (ms) => (ms < 999.95 ? `${ms.toFixed(1)} ms` : `${(ms / 1000).toFixed(3)} s`);
const named = (lane) => [say(lane.process), say(lane.order)].filter(Boolean).join(", ");

const note = (kind, mark, text) => (text ? html`<span class=${`note-${kind}`}><span class="sign">${mark} </span><span class="words">${words(text)}</span></span>` : null);

function Step({ step, lanes }) {
  const to = step.to >= 0 ? (step.to > step.lane ? " →" : " ←") : "";
  return html`<tr class=${step.wrong ? "bad" : step.right ? "good" : ""}>
    <th scope="row" class="number">${time(step.at_ms)}</th>
    ${lanes.map((lane, i) => html`<td key=${i} class=${i === step.lane ? "step" : "rest"} data-lane=${named(lane)}>${i !== step.lane ? null
      : html`<span class="does">${words(step.text)}${to}</span>${note("held", "‖", step.held)}${note("wrong", "✗", step.wrong)}${note("right", "✓", step.right)}`}</td>`)}
  </tr>`;
}

// Scene is what happened in one run.
export const Scene = ({ scene }) => html`
  <div class="happened">
    <table class=${`lanes-${scene.lanes.length}`}>
      <thead><tr><th scope="col" class="number"><span class="hidden">${t`After`}</span></th>
        ${scene.lanes.map((lane, i) => html`<th scope="col" key=${i}>${say(lane.process)}${lane.order ? html` <small>${words(lane.order)}</small>` : null}</th>`)}</tr></thead>
      <tbody>${scene.steps.map((step, i) => html`<${Step} key=${i} step=${step} lanes=${scene.lanes} />`)}</tbody>
    </table>
    ${scene.books ? html`<p class="books-say"><b>${t`The books:`}</b> ${words(scene.books)}${t`.`}</p>` : null}
    ${scene.says ? html`<p class="books-say">${say(scene.says)}</p>` : null}
  </div>`;

export function Happened() {
  const scene = useValue(state.scene);
  if (!scene) return null;
  return html`<section id="happened" aria-labelledby="happened-title"><h2 id="happened-title">${t`What happened`}</h2><${Scene} scene=${scene} /></section>`;
}
