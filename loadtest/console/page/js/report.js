// The report: one run on one sheet. renderReport is pure; the page shows it in
// the table of runs, and a report file shows it by itself.
import { count, day, many, rate, span } from "./format.js";
import { booksTable, booksWords, CHARTS, compareBars, eventsTable, faultLine, invariantsTable, invariantsWords, sentence, seriesOf, seriesTable,
  verdictWord, verdictWords } from "./parts.js";

const SVG = "http://www.w3.org/2000/svg";

// node makes a DOM element. It is the h of a report file.
export function node(tag, attributes, ...children) {
  const made = ["svg", "g", "line", "path", "rect", "text", "title"].includes(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name !== "key" && value != null && value !== false) made.setAttribute(name, value);
  }
  made.append(...children.flat(Infinity).filter((child) => child != null && child !== false));
  return made;
}

// round returns at most n round numbers from 0 up to most.
function round(most, n) {
  const ten = 10 ** Math.floor(Math.log10(most / n));
  const step = [1, 2, 2.5, 5, 10].map((one) => one * ten).find((one) => most / one <= n);
  return Array.from({ length: Math.floor(most / step) + 1 }, (_, i) => i * step);
}

// pieces returns a line as a path with a gap where the value is absent. A sample between two gaps is a dot.
function pieces(samples, key, x, y) {
  const known = samples.map((one) => one[key] != null);
  return samples.map((one, i) => {
    if (!known[i]) return "";
    const at = `${y(one[key]).toFixed(1)}`;
    if (!known[i - 1] && !known[i + 1]) return `M${(x(one.t_ms) - 1).toFixed(1)} ${at}h2`;
    return `${known[i - 1] ? "L" : "M"}${x(one.t_ms).toFixed(1)} ${at}`;
  }).join("");
}

// strikes draws the faults that struck within the chart, with their names as far as there is room.
function strikes(h, faults, end, x, [left, right, bottom]) {
  let edge = left;
  return faults.filter((fault) => fault.fired_ms && fault.fired_ms <= end).map((fault) => {
    const at = x(fault.fired_ms);
    const text = `${fault.what} ${fault.where || ""}`.trim();
    const wide = text.length * 6 + 4;
    const flip = at + wide > right;
    const room = (flip ? at - wide : at) >= edge;
    if (room) edge = flip ? at : at + wide;
    return h("g", { key: fault.id },
      h("line", { class: "strike", x1: at, x2: at, y1: 0, y2: bottom }),
      room ? h("text", { class: "strike", x: at + (flip ? -4 : 4), y: 11, "text-anchor": flip ? "end" : "start" }, text)
        : null);
  });
}

// chartSVG draws a chart that needs no script afterwards.
export function chartSVG(h, chart, samples, faults = []) {
  const [width, height, left, bottom] = [960, 200, 56, 22];
  const end = Math.max(...samples.map((one) => one.t_ms), 1);
  const top = Math.max(...samples.flatMap((one) => chart.lines.map(([key]) => one[key] || 0)), 1) * 1.1;
  const x = (ms) => left + (ms / end) * (width - left - 8);
  const y = (value) => height - bottom - (value / top) * (height - bottom - 16);
  return h("svg", { viewBox: `0 0 ${width} ${height}`, class: "chart", role: "img", "aria-label": `${chart.title} over the run; the table below has the numbers` },
    round(top, 4).map((value) => h("g", { key: value },
      h("line", { class: "grid", x1: left, x2: width - 8, y1: y(value), y2: y(value) }),
      h("text", { class: "tick", x: left - 6, y: y(value) + 4, "text-anchor": "end" }, chart.tick(value)))),
    round(end, 10).map((ms) => h("text", { class: "tick", key: ms, x: x(ms), y: height - 4, "text-anchor": "middle" }, `${+(ms / 1000).toFixed(2)} s`)),
    strikes(h, faults, end, x, [left, width, height - bottom]),
    chart.lines.map(([key, , kind, dash]) =>
      h("path", { key, class: `line ${kind}`, d: pieces(samples, key, x, y), "stroke-dasharray": dash.join(" ") })));
}

const legend = (h, chart) => h("p", { class: "legend" }, chart.lines.map(([key, name, kind, dash]) =>
  h("span", { key, class: "item" }, h("svg", { viewBox: "0 0 24 8", class: "swatch", "aria-hidden": "true" },
    h("line", { class: `line ${kind}`, x1: 0, x2: 24, y1: 4, y2: 4, "stroke-dasharray": dash.join(" ") })), ` ${name} `)));

// renderReport makes the report of a run: data is the answer of GET /api/runs/{id}.
export function renderReport(data, h = node) {
  const { row, verdict, hero, books, samples = [], log = [], faults = [], compare } = data;
  const word = hero?.word || (row.verdict || "unknown").toUpperCase();
  const facts = [["Run", row.id], ["At", day(row.at)], ["Fault", row.fault ? `${row.fault}, ${row.variant}` : "none of the published ones"],
    ["Strategy", row.strategy], ["Seed", row.seed], ["Orders", count(row.orders)], ["Rate", `${rate(row.orders_per_s)} orders/s`],
    ["99 of 100 within", span(row.p99_ms)], ["What broke", (row.faults || []).join(", ") || "nothing"], ["Command", row.command]];
  return h("article", { class: "report" },
    h("header", {}, h("p", { class: "what" }, row.title),
      h("h1", {}, sentence(h, hero?.sentence || many(row.orders, "order")), " ", verdictWord(h, word))),
    compare ? compareBars(h, compare) : null,
    h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) =>
      h("div", { key: name, class: name === "Command" ? "whole" : "" }, h("dt", {}, name), h("dd", {}, value)))),
    books?.rows?.length ? h("section", {}, h("h2", {}, "The books"), booksWords(h, books), booksTable(h, books, 100)) : null,
    verdict ? h("section", {}, h("h2", {}, "The verdict"), h("p", {}, verdictWords(verdict)), h("p", {}, `${invariantsWords(verdict)}.`),
      (verdict.reasons || []).map((why, i) => h("p", { key: i, class: "unsure" }, why)), invariantsTable(h, verdict, true)) : null,
    samples.length ? h("section", {}, h("h2", {}, "Over time"), CHARTS.map((chart) => h("figure", { key: chart.id },
      h("figcaption", {}, chart.title), legend(h, chart), chartSVG(h, chart, samples, faults),
      h("details", {}, h("summary", {}, "As a table"), seriesTable(h, chart, seriesOf(chart, samples)))))) : null,
    faults.length ? h("section", {}, h("h2", {}, "What broke"), h("ul", { class: "plain" }, faults.map((fault) => h("li", { key: fault.id }, faultLine(h, fault))))) : null,
    log.length ? h("section", {}, h("h2", {}, "What happened"), eventsTable(h, log)) : null);
}

// In a report file the data is next to the script. The page has no such element.
const blob = typeof document === "undefined" ? null : document.getElementById("report-data");
if (blob) document.getElementById("report").replaceChildren(renderReport(JSON.parse(blob.textContent)));
