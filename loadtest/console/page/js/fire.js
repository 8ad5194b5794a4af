// Free play: the load and the faults.
import { Button, Empty, html, many, note, notNow, say, signal, t, useValue } from "./ui.js";
import { act } from "./api.js";
import { brokenByHand, form, offered, state, variant, victim, whyNotBreak, whyNotFire } from "./state.js";
import { change, command, faultWords, flags, reset, scenario, settings } from "./scenario.js";
import { copy } from "./copy.js";

export async function fire() {
  if (whyNotFire.value) return refuse(whyNotFire.value);
  variant.value = offered.value = "";
  const { seed, ...of } = scenario.value;
  await act("api/fire", seed ? { ...of, seed } : of);
}

const refuse = (why) => note(notNow(why));

// strike breaks something now.
export const strike = (fault) => (whyNotBreak.value ? refuse(whyNotBreak.value) : act("api/act", fault));

// What K and P do to the chosen replica.
export const kill = () => strike({ action: "kill", target: victim.value });
export function pauseOrResume() {
  const is = state.replicas.value.find((replica) => replica.name === victim.value)?.state;
  return strike({ action: is === "paused" ? "resume" : "pause", target: victim.value });
}

function Setting({ field: { name, label, says, most }, now }) {
  return html`<label title=${say(says)}>${say(label)}
    <input type="number" name=${name} min="0" max=${most} step=${most === 1 ? 0.05 : "any"} value=${now[name] ?? 0}
      onInput=${(event) => event.target.value !== "" && change({ [name]: Number(event.target.value) })} /></label>`;
}

// strategyWords describes a strategy. The page starts the services itself, so their flag for a strategy that is
// not safe is left out.
const strategyWords = (says) => say(says.replace(/; only with `--allow-unsafe`/, "")).split("`")
  .map((piece, i) => (i % 2 ? html`<code key=${i}>${piece}</code>` : piece));

const MAIN = ["orders", "concurrency", "goods", "stock"];

function Settings() {
  const now = useValue(scenario);
  const known = useValue(form);
  const attached = useValue(state.mode) === "attached";
  const shown = known?.strategies?.find((one) => one.name === (now.strategy || "grouped"));
  const all = useValue(settings);
  const fields = (main) => all.filter(({ name }) => MAIN.includes(name) === main).map((field) => html`<${Setting} key=${field.name} field=${field} now=${now} />`);
  const isDefault = all.every(({ name }) => MAIN.includes(name) || now[name] === (known?.defaults?.[name] ?? now[name]));
  return html`
    <div class="fields">${fields(true)}</div>
    ${attached ? html`<p class="muted">${t`The running stock services keep their strategy.`}</p>` : html`<label class="whole">${t`Strategy: how buyers are kept apart`}
      <select name="strategy" value=${now.strategy || "grouped"} onChange=${(event) => change({ strategy: event.target.value })}>
        ${(known?.strategies || []).map((one) => html`<option key=${one.name} value=${one.name}>${one.name}${one.unsafe ? t` (not safe)` : ""}</option>`)}
      </select></label>`}
    ${shown?.says && !attached ? html`<p class="muted">${strategyWords(shown.says)}</p>` : null}
    <details open=${!isDefault}><summary>${t`All settings`}</summary>
      <div class="fields">${fields(false)}
        <label title=${t`makes the same orders again; empty: random`}>${t`Seed`} <input name="seed" inputmode="numeric" pattern="[0-9]*" value=${now.seed || ""} onInput=${(event) => change({ seed: event.target.value.replace(/\D/g, "") })} /></label>
        <label title=${t`whole orders, or the stock service alone`}>${t`Path`}
          <select name="path" value=${now.path} onChange=${(event) => change({ path: event.target.value })}><option value="order">${t`whole orders`}</option><option value="deduct">${t`stock service alone`}</option></select></label>
      </div></details>`;
}

const draft = signal({ action: "pause", target: "stock-1", step: "commit", when: "before", wire: "mysql", after: 1 });

// shaped returns the parts of a draft that its action needs.
function shaped(of, kind, replicas, servers) {
  const fault = { action: of.action };
  const names = kind === "server" ? servers : replicas;
  if (kind !== "none") fault.target = names.includes(of.target) ? of.target : names[0];
  if (kind === "wire") fault.wire = of.wire;
  if (kind === "step") Object.assign(fault, { step: of.step, when: of.when });
  return fault;
}

function Breaking() {
  const known = useValue(form);
  const replicas = useValue(state.replicas).map((one) => one.name);
  const servers = useValue(state.servers).map((one) => one.name);
  const now = useValue(draft);
  const planned = useValue(scenario).faults;
  const whyNot = useValue(whyNotBreak);
  const action = known?.actions?.find((one) => one.name === now.action) || known?.actions?.[0];
  if (!action) return html`<${Empty}>${t`The list of what can be broken is loading.`}<//>`;
  const set = (part) => { draft.value = { ...draft.value, ...part }; };
  const choice = (name, words, list, value) => html`<label>${words}
    <select name=${name} value=${value} onChange=${(event) => set({ [name]: event.target.value })}>${list.map((one) => html`<option key=${one} value=${one}>${one}</option>`)}</select></label>`;
  const fault = shaped({ ...now, action: action.name }, action.target, replicas, servers);
  const plan = () => change({ faults: [...planned, { target: "", step: "", when: "", wire: "", ...fault, after_ms: Math.round(now.after * 1000) }] });
  return html`
    <div class="fields">
      <label class="whole">${t`Do`}
        <select name="action" value=${action.name} onChange=${(event) => set({ action: event.target.value })}>${known.actions.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}</select></label>
      ${["replica", "wire", "step"].includes(action.target) ? choice("target", t`to`, replicas, fault.target) : null}
      ${action.target === "server" ? choice("target", t`to`, servers, fault.target) : null}
      ${action.target === "wire" ? choice("wire", t`its connection to`, known.wires, now.wire) : null}
      ${action.target === "step" ? html`${choice("when", t`when`, known.whens, now.when)}${choice("step", t`the step`, known.steps, now.step)}` : null}
    </div>
    <p class="muted">${say(action.says)}</p>
    <div class="two"><${Button} why=${whyNot} onClick=${() => strike(fault)}>${t`Do it now`}<//>
      <${Button} why=${whyNot} onClick=${plan}>${t`Plan it`}<//></div>
    <label class="line">${t`at`} <input class="short" name="after" type="number" min="0" step="0.1" value=${now.after} onInput=${(event) => set({ after: Number(event.target.value) || 0 })} /> ${t`s after the first order`}</label>
    ${planned.length ? html`<ul class="plain planned">${planned.map((one, i) => html`<li key=${i}><span>+${(one.after_ms / 1000).toFixed(1)} s ${faultWords(one)}</span>
      <button type="button" class="quiet" aria-label=${t`take ${faultWords(one)} out`} onClick=${() => change({ faults: planned.filter((_, j) => j !== i) })}>✕</button></li>`)}</ul>` : null}`;
}

function Replicas() {
  const replicas = useValue(state.replicas);
  const chosen = useValue(victim);
  const whyNot = useValue(whyNotBreak);
  const is = replicas.find((one) => one.name === chosen);
  const dead = is?.state === "dead";
  return html`
    <label class="whole">${t`Replica`} <select name="victim" value=${chosen} onChange=${(event) => { victim.value = event.target.value; }}>
      ${replicas.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}: ${say(one.state)}</option>`)}</select></label>
    <div class="two">
      ${dead ? html`<${Button} why=${whyNot} onClick=${() => strike({ action: "restart", target: chosen })}>${t`Restart`}<//>`
        : html`<${Button} why=${whyNot} keys="K" onClick=${kill}>${t`Kill`}<//>`}
      <${Button} why=${whyNot || (dead ? t`it is dead` : "")} keys="P" onClick=${pauseOrResume}>${is?.state === "paused" ? t`Resume` : t`Pause`}<//>
    </div>`;
}

export function FreePlay() {
  const now = useValue(scenario);
  const whyNot = useValue(whyNotFire);
  const whyNotHere = useValue(whyNotBreak);
  const byHand = useValue(brokenByHand);
  return html`
    <div class="free">
      <h3>${t`Fire`}</h3>
      <${Settings} />
      <div class="two"><${Button} class="primary" why=${whyNot} keys="F" onClick=${fire}>${now.faults.length ? t`Fire with ${many(now.faults.length, "fault")}` : t`Fire`}<//>
        <${Button} onClick=${reset}>${t`Defaults`}<//></div>
      ${whyNot ? html`<p class="why">${notNow(whyNot)}</p>` : null}
      <p class="command"><code>${flags(command(now))}</code></p>
      ${byHand ? html`<p class="why">${t`What was broken by hand is in the command of the run, at the top of the page.`}</p>` : null}
      <div class="flow"><${Button} class="quiet" onClick=${() => copy(command(now))}>${t`Copy as command`}<//>
        <${Button} class="quiet" onClick=${() => copy(location.href)}>${t`Copy link`}<//></div>
      <h3>${t`Break something`}</h3>
      ${whyNotHere ? html`<p class="why">${notNow(whyNotHere)}</p>` : null}
      <${Replicas} />
      <h3>${t`Break anything`}</h3>
      <${Breaking} />
    </div>`;
}
