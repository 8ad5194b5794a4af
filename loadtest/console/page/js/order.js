// An order's life: a lane for each process, a bar for each step, the rows of four tables, the answers.
import { Button, Empty, html, Panel, say, signal, t, useState, useValue, useWidth } from "./ui.js";
import { get, post } from "./api.js";
import { offline, state } from "./state.js";
import { clock, span, tail } from "./format.js";

// life is null, { id, loading }, { id, error } or { id, data }.
export const life = signal(null);

export async function show(id) {
  life.value = { id, loading: true };
  document.getElementById("life")?.scrollIntoView({ block: "nearest" });
  await refresh(id);
}

async function refresh(id) {
  try {
    const data = await get(`api/orders/${encodeURIComponent(id)}`);
    if (life.value?.id === id) life.value = { id, data };
  } catch (error) {
    if (life.value?.id === id) life.value = { id, error: error.message };
  }
}

// linked turns the id of an order in a text into a button that shows its life. Ids of products look the same.
export const linked = (text, order) => (/^\d+$/.test(order || "") ? text.split(new RegExp(`\\b(${order})\\b`)) : [text]).map((piece, i) =>
  (i % 2 ? html`<button type="button" class="link" key=${i} onClick=${() => show(piece)} aria-label=${t`the life of order ${piece}`}>${piece}</button>` : piece));

// The steps in words; the name of the step stands in the title.
const STEPS = {
  "insert-order": t`write the order`, "set-flag": t`set the flag`, "call-stock": t`call the stock service`, "take-flag": t`take the flag`,
  "lookup-flow": t`look in the ledger`, "acquire-lock": t`wait for the lock`, "update-stock": t`update the stock`, "insert-flow": t`write the ledger`,
  commit: t`commit`, "release-lock": t`release the lock`, confirm: t`confirm from the ledger`, "set-status": t`set the status`,
  reply: t`answer`, "cancel-flag": t`cancel the flag`, "cancel-order": t`cancel the order`, reconcile: t`reconcile`,
  "insert-operation": t`write the outcome`, "cancel-operation": t`cancel the operation`, group: t`one transaction`,
  place: t`the order`, twin: t`the same, at once`, again: t`the same, later`, cancel: t`cancel`,
  "POST /v1/orders": t`the request`, "POST /v1/orders/:id/cancel": t`the cancellation`, "PUT /v1/operations/:flag": t`the call`,
};
const stepWords = (name) => STEPS[name] || name.replaceAll("-", " ");
// The figure shows the steps and all failures. The table also has the statements and calls within them.
// A commit of the order service is part of its step.
const isStep = (one) => (one.name in STEPS && !(one.name === "commit" && one.lane.startsWith("order"))) || one.error;
const happened = (one, name) => (one.events || []).filter((event) => event.name === name);
// A late writer is refused by its token or, if the other wrote without the lock, by the flag's primary key.
const isRefused = (one) => one.error && /token|fenc|stale|duplicate entry/i.test(one.error);
// A token is two numbers in hex: ZooKeeper's for the lock, and the place among the hand-overs within the process.
const tokenWords = (token) => [token.slice(0, 16), token.slice(16)].map((part) => part.replace(/^0+(?=.)/, "")).join("·");
const notes = (one) => [
  one.error && (isRefused(one) ? t`refused: ${one.error}` : one.error),
  ...happened(one, "paused").map((event) => t`the process stood still for ${span(Number(event.attributes.paused_ms))}`),
  happened(one, "retry").length && t`tried again ${happened(one, "retry").length}×`,
  one.attributes?.token && t`token ${tokenWords(one.attributes.token)}`,
  one.attributes?.callers > 1 && t`for ${one.attributes.callers} callers at once`,
  one.attributes?.["http.response.status_code"] && t`answered ${one.attributes["http.response.status_code"]} ${one.attributes.status || ""}`,
  one.attributes?.state, one.attributes?.replayed === "true" && t`a repeat`,
].filter(Boolean).join(", ");
const LANES = ["client", "order", "stock"];
const rank = (lane) => LANES.findIndex((name) => lane.startsWith(name)) * 10 + (parseInt(lane.split("-")[1], 10) || 0);

// pack puts the spans of a lane into rows so that neither bars nor words meet.
function pack(spans, x, width) {
  const ends = [];
  return spans.map((one) => {
    const left = x(one.start_us);
    const wide = Math.max(x(one.start_us + one.duration_us) - left, 3);
    const held = one.name === "acquire-lock" && !one.error && one.attributes?.token;
    const label = `${stepWords(one.name)} ${span(one.duration_us / 1000)}${held ? `, ${t`token ${tokenWords(held)}`}` : ""}`;
    const words = label.length * 6.4 + 12;
    const inside = words < wide;
    const flip = !inside && left + wide + words > width;
    const from = flip ? left - words : left;
    const to = inside || flip ? left + wide : left + wide + words;
    let row = ends.findIndex((end) => end <= from);
    if (row < 0) row = ends.length;
    ends[row] = to + 6;
    return { ...one, left, wide, label, inside, flip, row };
  });
}

function Lanes({ spans: all }) {
  const [ref, width] = useWidth();
  const spans = all.filter(isStep);
  const gutter = 84;
  const margin = 20; // room for the cross behind a short step that failed last
  const inner = Math.max(width - gutter - margin, 480); // narrower screens scroll
  const start = Math.min(...spans.map((one) => one.start_us));
  const end = Math.max(...spans.map((one) => one.start_us + one.duration_us), start + 1);
  const x = (us) => gutter + ((us - start) / (end - start)) * inner;
  const lanes = [...new Set(spans.map((one) => one.lane))].sort((a, b) => rank(a) - rank(b));
  const high = 24;
  let y = 24;
  const ticks = [0, 0.25, 0.5, 0.75, 1];
  const drawn = lanes.map((lane) => {
    const bars = pack(spans.filter((one) => one.lane === lane).sort((a, b) => a.start_us - b.start_us || b.duration_us - a.duration_us), x, gutter + inner);
    const top = y;
    y += (Math.max(...bars.map((bar) => bar.row)) + 1) * high + 8;
    return { lane, bars, top };
  });
  return html`
    <div ref=${ref} class="lanes" tabindex="0" role="region" aria-label=${t`Steps over time`}>
      ${width ? html`<svg width=${gutter + inner + margin} height=${y} role="img"
        aria-label=${t`Steps of the order over ${span((end - start) / 1000)}; the table below has them as words`}>
        <defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="6" height="6" class="hatch-ground" /><line x1="0" x2="0" y1="0" y2="6" class="hatch" /></pattern></defs>
        ${ticks.map((part) => html`<g key=${part}><line class="grid" x1=${gutter + part * inner} x2=${gutter + part * inner} y1="18" y2=${y} />
          <text class="tick" x=${gutter + part * inner} y="12" text-anchor=${part === 1 ? "end" : part ? "middle" : "start"}>${part ? `+${span((part * (end - start)) / 1000)}` : "0"}</text></g>`)}
        ${drawn.map(({ lane, bars, top }) => html`<g key=${lane} class="lane ${lane.split("-")[0]}">
          <line class="grid" x1="0" x2=${gutter + inner} y1=${top - 4} y2=${top - 4} /><text class="name" x="0" y=${top + 14}>${lane}</text>
          ${bars.map((bar) => {
            const refused = isRefused(bar);
            const by = top + bar.row * high;
            const stood = happened(bar, "paused").map((event) => {
              const from = x(event.at_us);
              return { from, wide: Math.max(x(event.at_us + 1000 * event.attributes.paused_ms) - from, 3) };
            });
            return html`<g key=${bar.id} class="bar ${bar.name === "acquire-lock" ? "waits" : ""} ${bar.parent && !bar.name.includes(" ") && bar.name !== "group" ? "" : "whole"} ${bar.error ? "error" : ""} ${stood.length ? "paused" : ""}">
              <title>${[bar.name, span(bar.duration_us / 1000), notes(bar)].filter(Boolean).join(", ")}</title>
              <rect x=${bar.left} y=${by} width=${bar.wide} height="18" rx="2" />
              ${stood.map((one, i) => html`<rect key=${i} class="stood" x=${one.from} y=${by} width=${one.wide} height="18" />`)}
              ${happened(bar, "retry").map((event, i) => html`<path key=${i} class="retry" d="M${x(event.at_us)} ${by - 2} v22" />`)}
              ${bar.error ? html`<text class="cross" x=${bar.left + bar.wide - (bar.wide > 16 ? 14 : -2)} y=${by + 14}>✗</text>` : null}
              <text class=${bar.inside ? "inside" : ""} x=${bar.inside ? bar.left + 6 : bar.flip ? bar.left - 6 : bar.left + bar.wide + (bar.error && bar.wide <= 16 ? 18 : 6)} y=${by + 13} text-anchor=${bar.flip ? "end" : "start"}>${bar.label}${refused ? t` refused` : ""}</text>
            </g>`;
          })}</g>`)}
      </svg>` : null}
    </div>`;
}

const Row = ({ name, row }) => html`<tr><th scope="row">${name}</th><td>${row ? Object.entries(row).map(([key, value]) => html`<span class="pair" key=${key}><small>${key}</small> ${typeof value === "object" && value ? JSON.stringify(value) : String(value ?? "–")}</span> `) : t`no row`}</td></tr>`;

function Life({ data }) {
  const spans = data.spans || [];
  const answers = data.answers || [];
  const token = data.operation?.fencing_token || spans.find((one) => one.attributes?.token)?.attributes.token;
  const stood = spans.some((one) => happened(one, "paused").length);
  const again = spans.some((one) => happened(one, "retry").length);
  return html`
    ${spans.length ? html`${spans.some(isStep) ? html`<${Lanes} spans=${spans} />`
      : html`<${Empty}>${t`Its trace has no step that the figure knows yet.`}<//>`}
      ${stood || again || spans.some((one) => one.error) ? html`<p class="legend">
        ${stood ? html`<span class="item"><svg class="swatch"><rect width="24" height="8" class="hatch-ground" /><rect width="24" height="8" fill="url(#hatch)" /></svg> ${t`the process stood still`}</span>` : null}
        <span class="item"><b class="bad">✗</b> ${spans.some(isRefused) ? t`failed; refused: another had written before` : t`failed`}</span>
        ${again ? html`<span class="item"><b>|</b> ${t`failed and tried again`}</span>` : null}</p>` : null}
      <details><summary>${t`The steps as a table`}</summary><table><caption class="hidden">${t`Steps`}</caption>
        <thead><tr><th scope="col" class="number">${t`Start`}</th><th scope="col" class="number">${t`Took`}</th><th scope="col">${t`Process`}</th><th scope="col">${t`Step`}</th><th scope="col">${t`What came of it`}</th></tr></thead>
        <tbody>${spans.map((one) => html`<tr key=${one.id}><td class="number">${span((one.start_us - Math.min(...spans.map((s) => s.start_us))) / 1000)}</td><td class="number">${span(one.duration_us / 1000)}</td><td>${one.lane}</td><td>${stepWords(one.name)} <small>${one.name}</small></td><td>${notes(one)}</td></tr>`)}</tbody></table></details>`
      : html`<${Empty}>${t`This order was not traced, so only its rows are known. A part of the orders is traced, and every order sent by hand.`}<//>`}
    ${answers.length ? html`<p class="answers">${answers.map((answer, i) => html`<span key=${i} class="pair"><small>${answer.kind} ${answer.t_ms != null ? `+${span(answer.t_ms)}` : ""}</small> ${answer.code} ${answer.status}</span> `)}</p>` : null}
    <div class="scroll" tabindex="0" role="region" aria-label=${t`The rows of the order`}><table class="rows">
      <caption class="hidden">${t`The rows of the order in the four tables, and the flag in Redis`}</caption>
      <tbody>
        <${Row} name="orders" row=${data.order} />
        ${(data.items || []).map((row, i) => html`<${Row} key=${i} name=${i ? "" : "order_items"} row=${row} />`)}
        <${Row} name="operations" row=${data.operation} />
        ${(data.flows || []).length ? data.flows.map((row, i) => html`<${Row} key=${i} name=${i ? "" : "stock_flow"} row=${row} />`) : html`<${Row} name="stock_flow" row=${null} />`}
        <tr><th scope="row">Redis</th><td>${t`the flag is ${say(data.flag_in_redis || "unknown")}`}</td></tr>
        ${token ? html`<tr><th scope="row">${t`token`}</th><td><code>${token}</code></td></tr>` : null}
      </tbody></table></div>`;
}

export function OrderLife() {
  const shown = useValue(life);
  const books = useValue(state.books);
  const recent = useValue(state.recent) || [];
  const lost = useValue(offline);
  const [id, setID] = useState("");
  const [goods, setGoods] = useState("");
  const [num, setNum] = useState(1);
  const [last, setLast] = useState(null); // the body of the order that was sent last
  const [sent, setSent] = useState("");
  const product = goods || books?.rows?.[0]?.goods || "";
  const send = async (again) => {
    const fresh = { items: [{ goods_id: product, num: Number(num) }], key: `by-hand-${Date.now().toString(36)}` };
    const body = again ? last : fresh;
    setLast(body);
    setSent(t`sending …`);
    try {
      const answer = await post("api/orders", body);
      const status = answer.body?.status || answer.body?.code || "";
      setSent(t`answered ${answer.status} ${status} at ${clock(new Date())}`);
      if (answer.order_id) {
        setID(answer.order_id);
        await show(answer.order_id);
        for (const wait of [1500, 6000]) setTimeout(() => refresh(answer.order_id), wait); // spans come in batches
      }
    } catch (error) {
      setSent(error.message);
    }
  };
  const why = lost || (product ? "" : t`there is no product yet; play or fire a run first`);
  return html`
    <${Panel} id="life" title=${t`An order's life`} class="wide">
      <div class="line">
        <form onSubmit=${(event) => { event.preventDefault(); if (id.trim()) show(id.trim()); }}>
          <label>${t`Order`} <input name="order" inputmode="numeric" placeholder=${t`its id`} value=${id} onInput=${(event) => setID(event.target.value)} /></label>
          <button>${t`Show its life`}</button>
        </form>
        <form onSubmit=${(event) => event.preventDefault()}>
          <label>${t`or send one: product`} <input name="goods" inputmode="numeric" value=${product} onInput=${(event) => setGoods(event.target.value)} /></label>
          <label>${t`pieces`} <input name="num" class="short" type="number" value=${num} onInput=${(event) => setNum(event.target.value)} /></label>
          <${Button} why=${why} onClick=${() => send(false)}>${t`Send`}<//>
          <${Button} why=${lost || (last ? "" : t`send one first`)} onClick=${() => send(true)}
            title=${t`the same order under the same key: the answer must be the same`}>${t`Send it again`}<//>
          <span role="status" class="muted">${sent}</span>
        </form>
      </div>
      ${recent.length ? html`<p class="recent">${t`Traced:`} ${recent.slice(0, 8).map((one) => html`<button type="button" class="link" key=${one.order_id} onClick=${() => { setID(one.order_id); show(one.order_id); }}>${tail(one.order_id, 6)} <small>${one.status}</small></button> `)}</p>` : null}
      ${!shown ? html`<${Empty}>${t`Click the id of an order anywhere on this page, type one, or send one by hand: you see each step that it took, and the rows that it left.`}<//>`
        : shown.loading ? html`<${Empty}>${t`Reading order ${shown.id} …`}<//>`
        : shown.error ? html`<p class="empty">${shown.error}</p>`
        : html`<p class="what">${t`Order`} <b>${shown.id}</b> <button type="button" class="quiet" onClick=${() => refresh(shown.id)}>${t`read again`}</button></p><${Life} data=${shown.data} />`}
    <//>`;
}
