// The table of runs: runs over the charts, what holds in one run and not in another, the report.
import { Empty, html, note, Panel, say, signal, t, useState, useValue } from "./ui.js";
import { get, sheet } from "./api.js";
import { overlays, state } from "./state.js";
import { count, day, rate, sign, span } from "./format.js";

const MOST = 3; // lines that can still be told apart
const FEW = 12; // runs that are listed at first

// opened is the run whose report is shown, with the report as HTML, or null.
const opened = signal(null);

const isOver = (id) => overlays.value.some((run) => run.row.id === id);
const wanted = new Set(); // the ids of the runs that are ticked and not yet loaded

async function toggle(id) {
  if (wanted.delete(id)) return;
  if (isOver(id)) {
    overlays.value = overlays.value.filter((run) => run.row.id !== id);
    return;
  }
  const full = () => note(t`At most ${MOST} runs can be laid over each other; take one out first.`, true);
  if (overlays.value.length + wanted.size >= MOST) return full();
  wanted.add(id);
  try {
    const run = await get(`api/runs/${id}`);
    if (wanted.has(id) && !isOver(id)) overlays.value = [...overlays.value, run];
  } catch (error) {
    if (wanted.has(id)) note(error.message, true);
  } finally {
    wanted.delete(id);
  }
}

// tick toggles a run. A run that cannot be laid over the charts does not stay ticked.
async function tick(id, box) {
  await toggle(id);
  box.checked = isOver(id) || wanted.has(id);
}

// close closes the report. The focus goes back to its run.
function close() {
  document.querySelector("#runs tr.open button")?.focus();
  opened.value = null;
}

async function open(id) {
  if (opened.value?.id === id) { opened.value = null; return; }
  try { opened.value = { id, html: await sheet(`api/runs/${id}/report`) }; } catch (error) { note(error.message, true); }
}

// Difference lists what held in one of the runs and not in another.
function Difference({ runs }) {
  const names = new Map();
  for (const run of runs) for (const one of run.verdict?.invariants || []) names.set(one.name, one.says || one.name);
  const broken = (run, name) => run.verdict?.invariants?.find((one) => one.name === name)?.violations ?? null;
  const found = (n) => (n == null ? null : n > 0);
  const differ = [...names].filter(([name]) => new Set(runs.map((run) => found(broken(run, name)))).size > 1);
  return html`
    <div class="difference"><h3>${t`Where they differ`}</h3>
      ${differ.length ? html`<div class="scroll" tabindex="0" role="region" aria-label=${t`Where the runs differ`}><table><thead><tr><th scope="col">${t`What must hold`}</th>${runs.map((run) => html`<th scope="col" class="number" key=${run.row.id}>${say(run.row.title)} ${say(run.row.variant)}<small> ${t`seed ${String(run.row.seed).slice(-6)}`}</small></th>`)}</tr></thead>
        <tbody>${differ.map(([name, says]) => html`<tr key=${name}><th scope="row">${say(says)}</th>${runs.map((run) => {
          const n = broken(run, name);
          return html`<td class="number ${n == null ? "" : n ? "bad" : "good"}" key=${run.row.id}>${n == null ? t`not judged` : n ? `✗ ${count(n)}×` : t`✓ holds`}</td>`;
        })}</tr>`)}</tbody></table></div>` : html`<p class="muted">${t`The same things hold in all of them.`}</p>`}
    </div>`;
}

function Row({ row, isOver, isOpen }) {
  const [mark, kind] = sign(row.word);
  return html`
    <tr class=${isOpen ? "open" : ""}>
      <td><label class="box"><input type="checkbox" checked=${isOver} onChange=${(event) => tick(row.id, event.target)}
        aria-label=${t`lay run ${say(row.title)} ${say(row.variant)} ${day(row.at)} over the charts`} /></label></td>
      <th scope="row"><button type="button" class="link" aria-expanded=${isOpen ? "true" : "false"} onClick=${() => open(row.id)}>${row.fault ? `${row.fault} ` : ""}${say(row.title)}</button> ${row.variant ? html`<small>${say(row.variant)}</small>` : null}</th>
      <td class="clock">${day(row.at)}</td><td>${row.strategy || "–"}</td><td class="seed"><code>${row.seed}</code></td><td class="broke">${(row.faults || []).join(", ") || "–"}</td>
      <td class="number">${count(row.orders)}</td><td class="number">${rate(row.orders_per_s)}</td><td class="number">${span(row.p99_ms)}</td>
      <td class="number">${row.oversold ? html`<b class="bad">${count(row.oversold)}</b>` : "0"}</td>
      <td><span class="verdict-small ${kind}">${mark} ${say((row.word || "unknown").toLowerCase())}</span></td>
      <td><a href="api/runs/${row.id}/report" download="orderstock-${row.id}.html">${t`report`}<span class="hidden"> ${say(row.title)} ${day(row.at)}</span></a></td>
    </tr>`;
}

export function Runs() {
  const runs = useValue(state.runs);
  const over = useValue(overlays);
  const shown = useValue(opened);
  const [all, setAll] = useState(false);
  const listed = all ? runs : runs.slice(0, FEW);
  return html`
    <${Panel} id="runs" title=${t`Runs`} class="wide" aside=${html`<span class="aside">${t`the last 50; tick some to lay them over the charts`}</span>`}>
      ${!runs.length ? html`<${Empty}>${t`No run has been kept yet.`}<//>` : html`
      <div class="scroll" tabindex="0" role="region" aria-label=${t`Table of runs`}><table class="runs">
        <caption class="hidden">${t`Runs, newest first`}</caption>
        <thead><tr><th scope="col"><span class="hidden">${t`Over the charts`}</span></th><th scope="col">${t`Run`}</th><th scope="col">${t`At`}</th><th scope="col">${t`Strategy`}</th><th scope="col">${t`Seed`}</th><th scope="col">${t`Broke`}</th>
          <th scope="col" class="number">${t`Orders`}</th><th scope="col" class="number">${t`Orders/s`}</th><th scope="col" class="number" title=${t`99 of 100 orders were answered within`}>p99</th><th scope="col" class="number">${t`Sold too many`}</th><th scope="col">${t`Verdict`}</th><th scope="col"><span class="hidden">${t`Report`}</span></th></tr></thead>
        <tbody>${listed.map((row) => html`<${Row} key=${row.id} row=${row} isOver=${over.some((run) => run.row.id === row.id)} isOpen=${shown?.id === row.id} />`)}</tbody>
      </table></div>
      ${runs.length > FEW ? html`<button type="button" class="quiet" onClick=${() => setAll(!all)}>${all ? t`the last ${FEW} only` : t`all ${count(runs.length)}`}</button>` : null}`}
      ${over.length > 1 ? html`<${Difference} runs=${over} />` : null}
      ${shown ? html`<div class="sheet"><button type="button" class="quiet" onClick=${close}>${t`Close this report`}</button><div dangerouslySetInnerHTML=${{ __html: shown.html }}></div></div>` : null}
    <//>`;
}
