// The charts: uPlot on a canvas, with a cursor for the keyboard and a table in place of the picture.
import { Empty, h, html, Panel, t, useEffect, useRef, useState, useValue, useWidth } from "./ui.js";
import { overlays, state } from "./state.js";
import { CHARTS, seriesOf, seriesTable } from "./parts.js";
import { since } from "./format.js";
import { theme } from "./bar.js";

const uPlot = globalThis.uPlot;

// colours reads the theme's colours: a canvas knows no CSS variables.
function colours(element) {
  const probe = document.createElement("span");
  element.append(probe);
  const read = (name) => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const found = Object.fromEntries(["ink", "muted", "line", "accent", "good-mark", "failed", "amber", "over-1", "over-2", "over-3"].map((name) => [name, read(name)]));
  probe.remove();
  return found;
}
// The dashes of the runs that lie over the present one.
const OVER = [[10, 2, 2, 2], [12, 4], [3, 2]];
const KINDS = { all: "accent", confirmed: "good-mark", rejected: "muted", failed: "failed" };

// Cursor positions are shared, so that both charts point at the same moment.
const sync = { key: "charts" };

// strikes draws each fault as a line across the chart with its victim's name.
const strikes = (faults, paint) => (plot) => {
  const { ctx, bbox } = plot;
  const ratio = devicePixelRatio || 1;
  ctx.save();
  ctx.textAlign = "left";
  ctx.textBaseline = "alphabetic";
  ctx.font = `${11 * ratio}px system-ui, sans-serif`;
  let edge = -1;
  for (const fault of faults) {
    const line = (ms, dash) => {
      const x = Math.round(plot.valToPos(ms / 1000, "x", true));
      if (x < bbox.left || x > bbox.left + bbox.width) return null;
      ctx.strokeStyle = paint.amber;
      ctx.lineWidth = 1.5 * ratio;
      ctx.setLineDash(dash);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
      return x;
    };
    if (fault.fired_ms) {
      const x = line(fault.fired_ms, []);
      const text = `${fault.what} ${fault.where || ""}`;
      if (x != null) {
        ctx.fillStyle = paint.ink;
        const wide = ctx.measureText(text).width;
        const flip = x + wide + 8 * ratio > bbox.left + bbox.width;
        const from = flip ? x - wide - 4 * ratio : x + 4 * ratio;
        if (from > edge) {
          ctx.fillText(text, from, bbox.top + 11 * ratio);
          edge = flip ? x : x + wide + 8 * ratio;
        }
      }
    }
    if (fault.healed_ms) line(fault.healed_ms, [3 * ratio, 3 * ratio]);
  }
  ctx.restore();
};

// alone lists the samples between two gaps: a line does not show them, so each is a dot. What is undefined is no
// sample, but the time of one of a run that is laid over this one.
function alone(plot, series) {
  const values = plot.data[series];
  const own = [...values.keys()].filter((i) => values[i] !== undefined);
  return own.filter((i, n) => values[i] != null && values[own[n - 1]] == null && values[own[n + 1]] == null);
}

// table returns uPlot's data and series for the samples and the runs laid over them.
function table(chart, samples, over) {
  const own = seriesOf(chart, samples);
  if (!over.length) return own;
  return uPlot.join([own, ...over.map((run) => [run.samples.map((one) => one.t_ms / 1000), run.samples.map((one) => one[chart.lines[0][0]] ?? null)])]);
}

function Swatch({ kind, dash }) {
  return html`<svg class="swatch" viewBox="0 0 24 8" aria-hidden="true"><line class="line ${kind}" x1="0" x2="24" y1="4" y2="4" stroke-dasharray=${dash.join(" ")} /></svg>`;
}

const overName = (run) => `${run.row.fault ? `${run.row.fault} ${run.row.variant}` : run.row.strategy || t`run`} ${String(run.row.seed).slice(-4)}`;

function Chart({ chart }) {
  const samples = useValue(state.samples);
  const faults = useValue(state.faults);
  const run = useValue(state.run);
  const over = useValue(overlays);
  const look = useValue(theme);
  const [figure, width] = useWidth();
  const ref = useRef(null);
  const [asTable, setTable] = useState(false);
  const [at, setAt] = useState(null); // where the cursor is, in ms since the start
  const plot = useRef(null);
  const shownFaults = useRef(faults);
  shownFaults.current = faults;
  const overIDs = over.map((run) => run.row.id).join();
  const [dark, setDark] = useState(0);
  useEffect(() => {
    const query = matchMedia("(prefers-color-scheme: dark)");
    const turned = () => setDark((n) => n + 1);
    query.addEventListener("change", turned);
    return () => query.removeEventListener("change", turned);
  }, []);
  // Only the process that fires knows how long answers took.
  const unheard = chart.id === "time" && run?.id === "other";
  const empty = (!samples.length || unheard) && !over.length;

  useEffect(() => {
    if (asTable || empty || !width) return undefined;
    const paint = colours(ref.current);
    const axis = { stroke: paint.muted, grid: { stroke: paint.line, width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
    const dots = (colour) => ({ show: false, filter: alone, size: 4, width: 0, fill: colour });
    const line = (label, colour, wide, dash) => ({ label, stroke: colour, width: wide, dash, points: dots(colour) });
    const lines = chart.lines.map(([, name, kind, dash]) =>
      line(name, paint[KINDS[kind]], kind === "all" ? 2 : 1.5, dash));
    const more = over.map((run, i) => line(overName(run), paint[`over-${(i % 3) + 1}`], 2, OVER[i % 3]));
    plot.current = new uPlot({
      width, height: 148, legend: { show: false }, cursor: { sync, points: { size: 6 }, drag: { x: false, y: false } },
      scales: { x: { time: false, range: (_, min, max) => [0, Math.max(max ?? 1, 1)] }, y: { range: (_, min, max) => [0, Math.max((max || 0) * 1.1, 1)] } },
      axes: [{ ...axis, size: 24, space: 64, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 58, space: 32, values: (_, ticks) => ticks.map((tick) => chart.tick(tick)) }],
      series: [{}, ...lines, ...more],
      hooks: { draw: [(it) => strikes(shownFaults.current, paint)(it)], setCursor: [(it) => setAt(it.cursor.idx == null ? null : 1000 * it.data[0][it.cursor.idx])] },
    }, table(chart, samples, over), ref.current);
    return () => { plot.current.destroy(); plot.current = null; };
  }, [asTable, empty, width, look, dark, overIDs]);

  useEffect(() => { plot.current?.setData(table(chart, samples, over)); }, [samples, faults, overIDs]);

  const last = samples.length - 1;
  // If runs are laid over this one, the cursor also stops at their samples: the legend shows the nearest sample of this one.
  const off = (i) => Math.abs(samples[i].t_ms - at);
  const here = at == null ? last : samples.reduce((best, _, i) => (off(i) < off(best) ? i : best), 0);
  const shown = samples[here];
  const words = shown ? `${since(shown.t_ms)}: ${chart.lines.map(([key, name]) => `${name} ${chart.write(shown[key])}`).join(", ")}` : t`no data yet`;
  const clear = () => {
    plot.current?.setCursor({ left: -10, top: -10 }, true, true);
    setAt(null);
  };
  useEffect(clear, [run?.id]);
  const move = (event) => {
    if (event.key === "Escape") return clear();
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -Infinity, End: Infinity };
    if (!(event.key in steps) || !plot.current || last < 0) return;
    event.preventDefault();
    event.stopPropagation();
    const to = Math.min(last, Math.max(0, here + steps[event.key]));
    plot.current.setCursor({ left: plot.current.valToPos(samples[to].t_ms / 1000, "x"), top: 10 }, true, true);
    setAt(samples[to].t_ms);
  };
  return html`
    <figure class="graph" ref=${figure}>
      <figcaption><span>${chart.title}</span>
        <button type="button" class="quiet" aria-pressed=${asTable ? "true" : "false"} aria-label=${t`${chart.title} as table`} onClick=${() => setTable(!asTable)}>${t`as table`}</button></figcaption>
      <p class="legend">
        ${chart.lines.map(([key, name, kind, dash]) => html`<span class="item" key=${key}><${Swatch} kind=${kind} dash=${dash} /> ${name} <b>${shown ? chart.write(shown[key]) : ""}</b></span> `)}
        ${over.map((run, i) => html`<span class="item" key=${run.row.id}><${Swatch} kind="over-${(i % 3) + 1}" dash=${OVER[i % 3]} /> ${overName(run)}</span> `)}
        ${shown && at != null ? html`<span class="item">${t`at ${since(shown.t_ms)}`}</span>` : null}
      </p>
      ${empty ? html`<${Empty}>${unheard ? t`Only the process that fires knows how long answers took.` : t`No order has been sent yet. A run is sampled every 250 ms.`}<//>` : null}
      ${asTable && !empty ? html`<div class="scroll" tabindex="0" role="region" aria-label=${chart.title}>${seriesTable(chart, table(chart, samples, over), over.map(overName))}</div>` : null}
      <div ref=${ref} class="canvas" hidden=${asTable || empty} tabindex=${asTable || empty ? null : 0} role="slider" aria-label=${t`${chart.title}: cursor`}
        aria-valuemin="0" aria-valuemax=${Math.max(last, 0)} aria-valuenow=${Math.max(here, 0)} aria-valuetext=${words} onKeyDown=${move} onBlur=${clear}></div>
    </figure>`;
}

export const Charts = () => html`<${Panel} id="charts" title=${t`Over time`}>${CHARTS.map((chart) => html`<${Chart} key=${chart.id} chart=${chart} />`)}<//>`;
