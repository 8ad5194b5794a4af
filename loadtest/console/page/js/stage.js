// The stage: the chosen fault's two sides for a room, side by side. It shows what the page shows, large, and nothing else.
import { Button, html, note, say, t, useEffect, useLayoutEffect, useRef, useState, useValue } from "./ui.js";
import { published, choose, chosen, chosenFault, play, state, whyNotPlay } from "./state.js";
import { get } from "./api.js";
import { Status } from "./bar.js";
import { sentence, verdictWord } from "./parts.js";
import { Idea } from "./faults.js";
import { Scene } from "./happened.js";
import { Spoken } from "./hero.js";
import { count, rate } from "./format.js";

export const isStage = new URLSearchParams(location.search).has("stage");

// The sides with their keys. F stands for free play on the page, which the stage has not.
const SIDES = [{ name: "broken", key: "B", title: t`Broken` }, { name: "fixed", key: "F", title: t`Fixed` }];
export const KEYS = Object.fromEntries(SIDES.map(({ name, key }) => [key.toLowerCase(), () => play(name)]));
KEYS.ArrowLeft = () => another(-1);
KEYS.ArrowRight = () => another(1);

// another chooses the fault before or after the chosen one.
function another(step) {
  const all = (published.value || []).map((fault) => fault.letter);
  const to = all[all.indexOf(chosen.value) + step];
  if (to) choose(to);
}

// The runs that were over when the stage was opened. It begins empty, so that nobody sees the end before the play.
let before = null;

// useLatest returns the latest run of a side on this stage: the one that goes on, or a record as GET /api/runs/{id}
// answers it; null if there is none.
function useLatest(fault, side) {
  const runs = useValue(state.runs);
  const now = { row: useValue(state.run), hero: useValue(state.hero), books: useValue(state.books), scene: useValue(state.scene) };
  const [record, setRecord] = useState(null);
  if (!before && published.value) before = new Set(runs.map((run) => run.id));
  const is = (run) => run && run.fault === fault.letter && run.variant === side && !before?.has(run.id);
  const id = is(now.row) ? null : runs.find(is)?.id;
  useEffect(() => {
    if (id && record?.row.id !== id) get(`api/runs/${id}`).then(setRecord, (error) => note(error.message, true));
  }, [id]);
  if (is(now.row)) return now;
  return id && record?.row.id === id ? { ...record, hero: record.row } : null;
}

const isMarked = (step) => step.wrong || step.right;

// fewer leaves out the n lightest steps, of equal ones those farthest from a marked one, and the lanes that have no step
// then. That the experiment held a lane is said at its next step.
function fewer(scene, n) {
  const marked = [...scene.steps.keys()].filter((i) => isMarked(scene.steps[i]));
  const far = (i) => Math.min(...marked.map((at) => Math.abs(at - i)));
  const weight = (i) => scene.steps[i].weight || 0;
  const kept = [...scene.steps.keys()].sort((i, j) => weight(j) - weight(i) || far(i) - far(j)).slice(0, scene.steps.length - n);
  const held = {};
  const steps = scene.steps.flatMap((step, i) => {
    const by = step.held || held[step.lane] || "";
    held[step.lane] = kept.includes(i) ? "" : by;
    return kept.includes(i) ? [{ ...step, held: by }] : [];
  });
  const lanes = [...scene.lanes.keys()].filter((lane) => steps.some((step) => step.lane === lane));
  return { ...scene, lanes: lanes.map((lane) => scene.lanes[lane]),
    steps: steps.map((step) => ({ ...step, lane: lanes.indexOf(step.lane), to: lanes.indexOf(step.to) })) };
}

// Fitted shows a scene or, without one, a text as large as their place allows. A scene loses steps that are not marked
// before it gets too small to be read from the last row.
const [LARGEST, SMALL, SMALLEST] = [26, 18, 14];
function Fitted({ scene, children }) {
  const ref = useRef(null);
  const [left, leave] = useState({ scene, n: 0 });
  const n = left.scene === scene ? left.n : 0;
  const fit = () => {
    const box = ref.current;
    const more = scene && scene.steps.length - n > Math.max(4, scene.steps.filter(isMarked).length);
    for (let size = LARGEST; size >= (more ? SMALL : SMALLEST); size -= 0.5) {
      box.style.fontSize = `${size}px`;
      if (box.scrollHeight <= box.clientHeight && box.scrollWidth <= box.clientWidth) return;
    }
    if (more) leave({ scene, n: n + 1 });
  };
  useLayoutEffect(fit);
  useEffect(() => {
    const again = () => leave({ scene, n: 0 });
    addEventListener("resize", again);
    return () => removeEventListener("resize", again);
  }, [scene]);
  return html`<div class="fitted" ref=${ref}>${scene ? html`<${Scene} scene=${fewer(scene, n)} />` : children}</div>`;
}

function Tally({ fault, latest }) {
  const { row, books } = latest;
  const figure = (value, words) => html`<div><dd>${value}</dd><dt>${words}</dt></div>`;
  if (fault.rate) return row.orders_per_s ? html`<dl class="tally">${figure(rate(row.orders_per_s), t`orders a second`)}</dl>` : null;
  if (!books?.rows?.length) return null;
  return html`<dl class="tally">${figure(count(books.sold), t`sold`)}${figure(count(books.there), t`left`)}</dl>`;
}

function Side({ fault, side }) {
  const latest = useLatest(fault, side.name);
  const why = useValue(whyNotPlay);
  const doing = useValue(state.doing);
  const { hero, scene } = latest || {};
  return html`
    <section class="side" aria-label=${side.title}>
      <div class="press side-head"><${Button} class=${side.name} why=${why} keys=${side.key} onClick=${() => play(side.name)}>${side.title}<//>
        ${latest ? html`<${Tally} fault=${fault} latest=${latest} />` : null}</div>
      <h2>${hero ? html`${sentence(say(hero.sentence))} ${hero.word ? verdictWord(hero.word) : null}` : latest ? say(doing) : null}</h2>
      <${Spoken} text=${hero?.word && hero.word !== "RUNNING" ? `${side.title}, ${say(hero.word).toLowerCase()}: ${say(hero.sentence)}` : ""} />
      <${Fitted} scene=${scene}>
        ${side.name === "broken" ? html`<p>${say(fault.says)}</p><${Idea} of=${fault.idea} />` : html`<p>${say(fault.fix)}</p>`}
      <//>
    </section>`;
}

export function Stage() {
  const fault = useValue(chosenFault);
  if (!fault) return html`<main class="on-stage"><p class="empty">${t`The published faults are loading.`}</p></main>`;
  return html`
    <main class="on-stage">
      <header><h1><b class="letter">${fault.letter}</b> ${say(fault.title)}</h1><${Status} /></header>
      <div class="sides">${SIDES.map((side) => html`<${Side} key=${fault.letter + side.name} fault=${fault} side=${side} />`)}</div>
      <p class="legend"><span class="item">‖ ${t`held there by the experiment, so that it happens each time`}</span> <span class="item"><kbd>←</kbd> <kbd>→</kbd> ${t`another fault`}</span></p>
    </main>`;
}
