// The parts of the panels.
import { h, many, say, t } from "./ui.js";
import { clock, count, rate, short, sign, since, span } from "./format.js";

// verdictWord is the verdict as a sign and a word in its colour.
export const verdictWord = (word) => {
  const [mark, kind] = sign(word);
  return h("span", { class: `verdict ${kind}` }, h("span", { class: "sign", "aria-hidden": "true" }, mark), " ", say(word.toUpperCase()));
};

// sentence sets the numbers of a sentence apart from its words.
export const sentence = (text) =>
  h("span", { class: "sentence" }, text.split(/(\d[\d,.]*)/).map((piece, i) => (i % 2 ? h("b", { key: i }, piece) : piece)));

const cell = (text, attributes = {}) => h("td", { class: "number", ...attributes }, text);
const head = (names) => h("thead", {}, h("tr", {}, names.map(([name, isNumber, title]) =>
  h("th", { scope: "col", class: isNumber ? "number" : "", title }, name))));

const BOOK_COLUMNS = [[t`Product`],
  [t`In`, 1, t`pieces that came in`], [t`Out`, 1, t`pieces that orders took`], [t`Back`, 1, t`pieces that cancelled orders put back`],
  [t`There`, 1, t`pieces on the shelf by the stock table`], [t`Sold`, 1, t`pieces confirmed to clients`]];

// booksTable is the ledger compared with the shelf, the products that disagree first.
export const booksTable = (books, most = 8) => {
  const rows = [...books.rows].sort((a, b) => Boolean(b.wrong) - Boolean(a.wrong));
  const all = books.products || rows.length;
  const sold = (n) => (books.heard === false ? "–" : count(n)); // another process fired, and only that one knows
  const sum = (key) => rows.reduce((all, row) => all + row[key], 0);
  return h("table", { class: "books" },
    h("caption", { class: "hidden" }, t`The books: pieces in, out, back and there`),
    head(BOOK_COLUMNS),
    h("tbody", {}, rows.slice(0, most).map((row) =>
      h("tr", { class: row.wrong ? "bad" : "", key: row.goods },
        h("th", { scope: "row" }, row.wrong ? h("span", { class: "sign" }, "✗ ") : null, say(row.name) || row.goods),
        cell(count(row.in)), cell(count(row.out)), cell(count(row.back)), cell(count(row.there)), cell(sold(row.told))))),
    rows.length > 1 && all === rows.length
      ? h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, all > most ? t`All ${all}` : t`Total`),
        ["in", "out", "back", "there", "told"].map((key) => cell(key === "told" ? sold(sum(key)) : count(sum(key)), { key }))))
      : all > rows.length ? h("tfoot", {}, h("tr", {}, h("th", { scope: "row" }, t`All ${count(all)}`),
        h("td", { class: "number", colspan: 5 }, t`${count(books.sold)} sold of ${count(books.stock)}`))) : null);
};

// booksWords says whether the books agree, and if not, where. Nothing is praised while pieces are out that no client has.
export const booksWords = (books) => {
  const wrong = books.rows.filter((row) => row.wrong).map((row) => t`${say(row.name) || row.goods}: ${say(row.wrong)}`);
  if (books.wrong && !wrong.length) wrong.push(say(books.wrong));
  if (!wrong.length && books.unequal) return h("p", {}, t`In − out + back equals there.`);
  if (!wrong.length) return h("p", { class: "good" }, h("span", { class: "sign" }, "✓ "), t`The books agree: in − out + back equals there.`);
  return h("ul", { class: "plain bad" }, wrong.slice(0, 3).map((text, i) => h("li", { key: i }, h("span", { class: "sign" }, "✗ "), text)),
    wrong.length > 3 ? h("li", { key: "more" }, t`and ${wrong.length - 3} more`) : null);
};

// invariantsTable lists the invariants that do not hold, or all of them. link may turn an order's id in a text into a link.
export const invariantsTable = (verdict, all, link = (text) => text) => {
  const list = verdict.invariants || [];
  const shown = all ? list : list.filter((one) => one.violations > 0);
  if (!shown.length) return null;
  return h("table", { class: "invariants" },
    h("caption", { class: "hidden" }, t`What must hold, and how often it did not`),
    head([[t`What must hold`], [t`Times broken`, 1]]),
    h("tbody", {}, shown.map((one) =>
      h("tr", { class: one.violations ? "bad" : "", key: one.name },
        h("th", { scope: "row" }, one.violations ? h("span", { class: "sign" }, "✗ ") : h("span", { class: "sign good" }, "✓ "),
          say(one.says) || one.name, h("small", {}, ` ${one.name}`),
          (one.sample || []).slice(0, 2).map((text, i) => h("small", { class: "sample", key: i }, link(text, one.findings?.[i]?.flag)))),
        cell(one.violations ? `${count(one.violations)}×` : "0")))));
};

// invariantsWords counts those that hold.
export const invariantsWords = (verdict) => {
  const list = verdict.invariants || [];
  return t`Of ${list.length} things that must hold, ${list.filter((one) => !one.violations).length} hold.`;
};

// verdictWords sums up the verdict in one line.
export const verdictWords = (verdict) => [
  many(verdict.orders, "order"), t`${count(verdict.confirmed)} confirmed`, t`${count(verdict.rejected)} rejected`,
  t`${count(verdict.cancelled)} cancelled`, t`${count(verdict.pending)} without an end`,
  t`${count(verdict.oversold)} sold too many`, t`${count(verdict.double_deducted)} deducted twice`].join(" · ");

// faultLine describes an observed fault: armed, fired so many times (or struck, if that is not counted), healed.
export const faultLine = (fault) => {
  const fired = fault.fired > 0;
  const struck = fault.counted === false ? t`struck` : t`fired ${count(fault.fired)}×`;
  const step = (reached, text) => h("span", { class: reached ? "" : "not-yet" }, text);
  return h("span", { class: `fault ${fault.status}` },
    h("b", {}, `${fault.what}${fault.where ? ` ${fault.where}` : ""}`), " ",
    step(true, t`armed ${since(fault.armed_ms)}`), " → ",
    step(fired, fired ? `${struck}${fault.fired_ms ? ` ${since(fault.fired_ms)}` : ""}` : t`not fired yet`), " → ",
    step(fault.status === "healed", fault.status === "healed" ? `${t`healed`}${fault.healed_ms ? ` ${since(fault.healed_ms)}` : ""}` : t`not healed yet`));
};

const KINDS = { run: "▸", fault: "⚡", books: "≠", verdict: "§", error: "!" };

// eventsTable lists the events with both their times.
export const eventsTable = (log) =>
  h("table", { class: "events" },
    h("caption", { class: "hidden" }, t`Events of the run`),
    head([[t`Since start`, 1], [t`Time`], [t`What happened`]]),
    h("tbody", {}, log.map((entry, i) =>
      h("tr", { class: `kind-${entry.kind}`, key: `${entry.at}${i}` },
        cell(since(entry.t_ms)), h("td", { class: "clock" }, clock(entry.at)),
        h("td", {}, h("span", { class: "sign", "aria-hidden": "true" }, `${KINDS[entry.kind] || "▸"} `), say(entry.text))))));

// The lines of the two charts: key in a sample, words, class, dash.
export const CHARTS = [
  { id: "rate", title: t`Orders answered per second`, write: rate, tick: rate, lines: [
    ["orders_per_s", t`all`, "all", []], ["confirmed_per_s", t`confirmed`, "confirmed", [6, 3]],
    ["rejected_per_s", t`rejected`, "rejected", [2, 3]], ["failed_per_s", t`failed`, "failed", [8, 3, 2, 3]]] },
  { id: "time", title: t`Time to answer`, write: span, tick: short, lines: [
    ["p99_ms", t`99 of 100 within`, "all", []], ["p50_ms", t`half within`, "rejected", [2, 3]]] },
];

// seriesOf returns the data of a chart: the seconds since the start, then the values of each line.
export const seriesOf = (chart, samples) =>
  [samples.map((one) => one.t_ms / 1000), ...chart.lines.map(([key]) => samples.map((one) => one[key] ?? null))];

// seriesTable is a chart as a table, with a column for each run that is laid over it.
export const seriesTable = (chart, [times, ...columns], over = []) =>
  h("table", { class: "series" },
    h("caption", { class: "hidden" }, chart.title),
    head([[t`Since start`, 1], ...chart.lines.map(([, name]) => [name, 1]), ...over.map((name) => [name, 1])]),
    h("tbody", {}, times.map((time, i) =>
      h("tr", { key: time }, cell(since(1000 * time)), columns.map((values, key) => cell(values[i] == null ? "" : chart.write(values[i]), { key }))))));

// compareBars sets two rates side by side.
export const compareBars = (compare) => {
  const most = Math.max(compare.broken, compare.fixed, 1e-9);
  const bar = (name, value, says) => h("tr", {},
    h("th", { scope: "row" }, name, says ? h("small", {}, say(says)) : null),
    h("td", { class: "bar" }, h("svg", { viewBox: "0 0 100 12", preserveAspectRatio: "none", "aria-hidden": "true" },
      h("rect", { class: "ground", width: 100, height: 12 }), h("rect", { class: "value", width: (100 * (value || 0)) / most, height: 12 }))),
    cell(value ? rate(value) : t`not run yet`));
  const times = compare.broken && compare.fixed ? compare.fixed / compare.broken : 0;
  return h("table", { class: "compare" },
    h("caption", {}, t`${say(compare.what)}, side by side`, times > 1.05 ? h("b", {}, t`: ${rate(times)} times as many`) : null),
    h("tbody", {}, bar(t`Broken`, compare.broken, compare.broken_says), bar(t`Fixed`, compare.fixed, compare.fixed_says)));
};
