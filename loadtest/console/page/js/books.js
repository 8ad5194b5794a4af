// The right column: the books, the orders, the verdict, the queue for the lock; and the events of the middle one.
import { Empty, h, html, many, Panel, say, t, useRef, useEffect, useState, useValue } from "./ui.js";
import { state } from "./state.js";
import { booksTable, booksWords, eventsTable, invariantsTable, invariantsWords, verdictWords } from "./parts.js";
import { clock, count, rate, span, tail } from "./format.js";
import { linked } from "./order.js";

export function Books() {
  const books = useValue(state.books);
  return html`
    <${Panel} id="books" title=${t`The books`} aside=${books?.read_at ? html`<span class="aside">${t`read ${clock(books.read_at).slice(0, 8)}, one snapshot`}</span>` : null}>
      ${books?.rows?.length ? html`${booksWords(books)}${books.scope ? html`<p class="muted">${t`These are ${say(books.scope)}: another process may fire at others.`}</p>` : null}${booksTable(books)}<p class="muted unequal">${say(books.unequal)}</p>`
        : html`<${Empty}>${t`No products yet: a run creates its own. While it runs, this table shows how many pieces came in, went out and are there.`}<//>`}
    <//>`;
}

const STATUSES = [["CONFIRMED", t`confirmed`], ["REJECTED", t`rejected`], ["PENDING", t`no end yet`], ["CANCELLING", t`being cancelled`], ["CANCELLED", t`cancelled`]];

export function Orders() {
  const statuses = useValue(state.statuses) || {};
  const commits = useValue(state.commits) || {};
  return html`
    <${Panel} id="orders" title=${t`Orders`}>
      <dl class="figures">
        ${STATUSES.filter(([key]) => key !== "CANCELLING" || statuses[key]).map(([key, words]) => html`<div key=${key}><dd>${count(statuses[key])}</dd><dt>${words}</dt></div>`)}
        ${commits.per_s != null ? html`<div><dd>${rate(commits.per_s)}</dd><dt>${t`commits a second`}</dt></div>` : null}
        ${commits.orders_per_commit ? html`<div><dd>${rate(commits.orders_per_commit)}</dd><dt>${t`orders for each commit`}</dt></div>` : null}
      </dl>
    <//>`;
}

export function Verdict() {
  const verdict = useValue(state.verdict);
  const [all, setAll] = useState(false);
  if (!verdict) {
    return html`<${Panel} id="judged" title=${t`The verdict`}><${Empty}>${t`Not judged yet. Once a run has settled, the judge reads the databases and the answers to clients, never the services' claims.`}<//><//>`;
  }
  return html`
    <${Panel} id="judged" title=${t`The verdict`} aside=${html`<button type="button" class="quiet" aria-pressed=${all ? "true" : "false"} onClick=${() => setAll(!all)}>${t`all`}</button>`}>
      <p>${invariantsWords(verdict)}</p>
      <p class="muted">${verdictWords(verdict)}</p>
      ${(verdict.reasons || []).map((why, i) => html`<p class="unsure" key=${i}>${say(why)}</p>`)}
      ${invariantsTable(verdict, all, linked)}
    <//>`;
}

function Place({ of, place, holds }) {
  return html`
    <tr class=${holds ? "holds" : ""} title=${t`${of.node} · session ${of.session}`}>
      <th scope="row" class="number">${place}</th><td>${tail(of.owner, 14)}</td><td>${holds ? t`holds` : t`waits`}${of.mode ? html` <small>${of.mode}</small>` : null}</td>
      <td class="number"><code>${tail(of.token)}</code></td><td class="number">${span(of.since_ms)}</td>
    </tr>`;
}

export function Lock() {
  const lock = useValue(state.lock);
  const holders = lock?.holders || [];
  const waiters = lock?.waiters || [];
  const more = (lock?.waiting || 0) - waiters.length;
  // The row lights up when the lock changes hands, at most four times a second.
  const token = holders[0]?.token;
  const body = useRef(null);
  const last = useRef(0);
  useEffect(() => {
    const now = performance.now();
    const row = body.current?.querySelector(".holds");
    if (!row || now - last.current < 250 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    last.current = now;
    row.animate([{ opacity: 0.35 }, { opacity: 1 }], 250);
  }, [token]);
  return html`
    <${Panel} id="lock" title=${t`The queue for the lock`} aside=${lock?.path ? html`<span class="aside">${t`${count(lock.waiting)} wait in ZooKeeper, ${count(lock.local)} in all processes`}</span>` : null}>
      ${!lock?.path ? html`<${Empty}>${say(lock?.says) || t`No lock has been taken yet.`}<//>`
        : html`
        <p class="path"><code>${lock.path}</code></p>
        ${holders.length || waiters.length ? html`
        <table class="queue">
          <caption class="hidden">${t`Who holds the lock and who waits for it`}</caption>
          <thead><tr><th scope="col" class="number">#</th><th scope="col">${t`Process`}</th><th scope="col">${t`State`}</th><th scope="col" class="number" title=${t`the fencing token: it rises with each holder`}>${t`Token`}</th><th scope="col" class="number">${t`For`}</th></tr></thead>
          <tbody ref=${body}>${holders.map((of, i) => html`<${Place} key=${of.node} of=${of} place=${i + 1} holds=${true} />`)}
            ${waiters.map((of, i) => html`<${Place} key=${of.node} of=${of} place=${holders.length + i + 1} holds=${false} />`)}</tbody>
        </table>` : html`<${Empty}>${t`Nobody holds it and nobody waits.`}<//>`}
        ${more > 0 ? html`<p class="muted">${t`and ${count(more)} more`}</p>` : null}
        ${lock.unlocked ? html`<p class="unlocked">${t`${many(lock.unlocked, "group")} went on without it in this run, as the holder was stuck.`}</p>` : null}`}
    <//>`;
}

export function Events() {
  const log = useValue(state.log);
  const [all, setAll] = useState(false);
  const newest = [...log].reverse();
  const shown = all ? newest : newest.slice(0, 12);
  return html`
    <${Panel} id="events" title=${t`Events`} aside=${html`<span class="aside">${t`newest first`}</span>`}>
      ${log.length ? eventsTable(shown) : html`<${Empty}>${t`Nothing has happened yet.`}<//>`}
      ${log.length > 12 ? html`<button type="button" class="quiet" onClick=${() => setAll(!all)}>${all ? t`the last ${12} only` : t`all ${count(log.length)}`}</button>` : null}
    <//>`;
}
