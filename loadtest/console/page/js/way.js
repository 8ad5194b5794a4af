// The way of an order: boxes, counts on the edges, replicas with their state, and what broke where.
import { Empty, h, html, Panel, say, t, useEffect, useRef, useState, useValue } from "./ui.js";
import { connection, state, victim } from "./state.js";
import { count } from "./format.js";
import { faultLine } from "./parts.js";

const STATES = { ready: ["●", t`ready`], "not ready": ["◐", t`not ready`], paused: ["‖", t`paused`], dead: ["✕", t`dead`], starting: ["○", t`starting`] };

// The path of each edge, the place of its count, and its meaning.
const EDGES = [
  { id: "client_order", from: [92, 130], to: [164, 130], at: [128, 120], unit: t`orders`, says: t`client to order service` },
  { id: "order_stock", from: [312, 130], to: [424, 130], at: [368, 120], unit: t`calls`, says: t`order service to stock service` },
  { id: "order_redis", from: [250, 80], to: [328, 42], at: [266, 52], anchor: "end", unit: t`flags set`, says: t`order service to Redis` },
  { id: "stock_redis", from: [486, 80], to: [408, 42], at: [470, 52], anchor: "start", unit: t`flags taken`, says: t`stock service to Redis` },
  { id: "order_mysql", from: [250, 180], to: [328, 218], at: [266, 214], anchor: "end", unit: t`orders written`, says: t`order service to MySQL` },
  { id: "stock_mysql", from: [486, 180], to: [408, 218], at: [470, 214], anchor: "start", unit: t`commits`, says: t`stock service to MySQL` },
  { id: "stock_zookeeper", from: [572, 130], to: [636, 130], at: [604, 120], unit: t`locks`, says: t`stock service to ZooKeeper` },
];
const SERVERS = [
  { name: "redis", title: "Redis", x: 324, y: 14, says: t`a hint: was this order seen?` },
  { name: "mysql", title: "MySQL", x: 324, y: 202, says: t`the books` },
  { name: "zookeeper", title: "ZooKeeper", x: 636, y: 110, says: t`whose turn it is` },
];

// Moving sends a dot along an edge when its count rises: at most two each second.
function Moving({ edge, n }) {
  const dot = useRef(null);
  const last = useRef({ n, at: 0 });
  useEffect(() => {
    const now = performance.now();
    const calm = document.hidden || matchMedia("(prefers-reduced-motion: reduce)").matches;
    if (n > last.current.n && now - last.current.at > 500 && !calm) {
      last.current.at = now;
      const place = ([x, y], opacity) => ({ transform: `translate(${x}px, ${y}px)`, opacity });
      dot.current.animate([place(edge.from, 1), place(edge.to, 1), place(edge.to, 0)], { duration: 450, easing: "ease-in-out" });
    }
    last.current.n = n;
  }, [n]);
  return html`<circle ref=${dot} class="moving" r="4" opacity="0" />`;
}

// places lists the parts that show a fault: a replica, a server, edges.
function places({ what, where, wire }) {
  if (wire) return [where, `${where.split("-")[0]}_${wire}`];
  if (what === "flush-redis") return ["redis"];
  if (what === "expire-sessions") return ["zookeeper", "stock_zookeeper"];
  if (["duplicate", "requests-duplicated"].includes(what)) return ["order_stock"];
  return [where];
}

const mark = (faults, name) => {
  const here = faults.filter((fault) => places(fault).includes(name) && fault.status !== "healed");
  if (!here.length) return null;
  return here.some((fault) => fault.status === "fired") ? "struck" : "armed";
};

function Tile({ replica, x, y, high, faults, chosen }) {
  const [symbol, words] = STATES[replica.state] || ["?", replica.state];
  const struck = mark(faults, replica.name);
  const choose = () => { victim.value = replica.name; };
  const label = `${[`${replica.name} ${words}`, say(replica.says), struck && t`a fault is ${say(struck)}`].filter(Boolean).join(", ")}. ${chosen ? t`K and P strike it.` : t`Press to choose it for K and P.`}`;
  return html`
    <g class="tile ${replica.state.replace(" ", "-")} ${struck || ""} ${chosen ? "chosen" : ""}" transform="translate(${x} ${y})" role="button" tabindex="0"
      aria-pressed=${chosen ? "true" : "false"} aria-label=${label} onClick=${choose}
      onKeyDown=${(event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(); } }}>
      <rect width="128" height=${high} rx="3" /><text class="symbol" x="10" y=${high / 2 + 5} aria-hidden="true">${symbol}</text><text x="27" y=${high / 2 + 5}>${replica.name}</text>${" "}
      <text class="state" x="120" y=${high / 2 + 5} text-anchor="end">${words}</text>
    </g>`;
}

// Service has a tile for each replica: the more replicas, the less high the tiles.
function Service({ title, x, replicas, faults, chosen }) {
  const step = Math.min(33, 87 / replicas.length);
  const high = 34 + step * Math.max(replicas.length, 2);
  const top = 130 - high / 2;
  return html`
    <g class="service">
      <rect x=${x} y=${top} width="148" height=${high} rx="4" /><text class="title" x=${x + 10} y=${top + 19}>${title}</text>
      ${replicas.map((replica, i) => html`<${Tile} key=${replica.name} replica=${replica} x=${x + 10} y=${top + 29 + i * step} high=${step - 5} faults=${faults} chosen=${chosen === replica.name} />`)}
    </g>`;
}

function Server({ of, member, faults }) {
  const [symbol, words] = STATES[member?.state] || ["", ""];
  const struck = mark(faults, of.name);
  return html`
    <g class="server ${(member?.state || "").replace(" ", "-")} ${struck || ""}" transform="translate(${of.x} ${of.y})">
      <rect width="88" height="44" rx="4" /><text class="title" x="44" y="19" text-anchor="middle">${of.title}</text>
      <text class="state" x="44" y="35" text-anchor="middle">${symbol} ${words}</text>
      <title>${of.title}: ${words} ${say(member?.says) || ""}. ${[of.says, struck && t`a fault is ${say(struck)}`].filter(Boolean).join("; ")}</title>
    </g>`;
}

// useFlushed says whether Redis was emptied within the last seconds. That is over at once, and its mark is to be seen.
function useFlushed(faults) {
  const online = useValue(connection) === "open";
  const n = faults.filter((fault) => fault.what === "flush-redis").length;
  const known = useRef(null);
  const [flushed, setFlushed] = useState(false);
  useEffect(() => {
    const isNew = online && known.current != null && n > known.current;
    known.current = online ? n : null; // what happened while nobody looked is not shown
    if (!isNew) return undefined;
    setFlushed(true);
    const over = setTimeout(() => setFlushed(false), 4000);
    return () => { clearTimeout(over); setFlushed(false); };
  }, [n, online]);
  return flushed;
}

export function Way() {
  const replicas = useValue(state.replicas);
  const servers = useValue(state.servers);
  const edges = useValue(state.edges) || {};
  const all = useValue(state.faults);
  const flushed = useFlushed(all);
  const lasting = (fault) => (flushed && fault.what === "flush-redis" ? { ...fault, status: "fired" } : fault);
  const faults = all.map(lasting);
  const run = useValue(state.run);
  const attached = useValue(state.mode) === "attached";
  const since = run ? t`counts since the run began` : attached ? t`counts since this console began to watch` : t`counts since the services started`;
  const chosen = useValue(victim);
  const noFlags = useValue(state.can).flags;
  const counted = EDGES.filter((edge) => edges[edge.id] != null);
  return html`
    <${Panel} id="way" title=${t`The way of an order`} aside=${html`<span class="aside">${since}</span>`}>
      <svg class="way" viewBox="0 0 728 260" role="group" aria-label=${t`Client, order service, Redis, stock service, ZooKeeper and MySQL`}>
        ${EDGES.map((edge) => html`
          <g class="edge ${mark(faults, edge.id) || ""}" key=${edge.id} data-edge=${edge.id}>
            <line x1=${edge.from[0]} y1=${edge.from[1]} x2=${edge.to[0]} y2=${edge.to[1]} />
            ${edges[edge.id] != null ? html`<text class="count" x=${edge.at[0]} y=${edge.at[1]} text-anchor=${edge.anchor || "middle"}>${count(edges[edge.id])}</text>
            <text class="unit" x=${edge.at[0]} y=${edge.anchor ? edge.at[1] + 13 : edge.at[1] + 25} text-anchor=${edge.anchor || "middle"}>${edge.unit}</text>` : null}
            <${Moving} edge=${edge} n=${edges[edge.id] || 0} />
          </g>`)}
        <g class="server"><rect x="12" y="108" width="80" height="44" rx="4" /><text class="title" x="52" y="134" text-anchor="middle">${t`buyers`}</text></g>
        <${Service} title=${t`order service`} x=${164} replicas=${replicas.filter((one) => one.kind === "order")} faults=${faults} chosen=${chosen} />
        <${Service} title=${t`stock service`} x=${424} replicas=${replicas.filter((one) => one.kind === "stock")} faults=${faults} chosen=${chosen} />
        ${SERVERS.map((of) => html`<${Server} key=${of.name} of=${of} member=${servers.find((one) => one.name === of.name)} faults=${faults} />`)}
      </svg>
      <table class="way-list">
        <caption class="hidden">${t`The way of an order in numbers`}</caption>
        <tbody>${counted.map((edge) => html`<tr key=${edge.id}><th scope="row">${edge.says}</th><td class="number">${count(edges[edge.id])}</td><td>${edge.unit}</td></tr>`)}
          ${noFlags ? html`<tr><th scope="row">${t`either service to Redis`}</th><td class="number">–</td><td>${t`not counted`}</td></tr>` : null}
          ${replicas.concat(servers).map((one) => html`<tr key=${one.name}><th scope="row">${one.name}</th><td class="number">${(STATES[one.state] || ["?"])[0]}</td><td>${say(one.state)}</td></tr>`)}</tbody>
      </table>
      ${noFlags ? html`<p class="why">${t`Flags set and taken: ${say(noFlags)}`}</p>` : null}
      ${all.length ? html`<ul class="plain struck">
        ${all.map((fault) => html`<li key=${fault.id}>${faultLine(fault)}</li>`)}</ul>`
        : html`<${Empty}>${t`No process, server or connection is broken.`}<//>`}
    <//>`;
}
