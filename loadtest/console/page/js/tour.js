// The tour: six stops, back and forth.
import { Button, effect, html, say, signal, t, useValue } from "./ui.js";
import { choose, play, state, tour, whyNotPlay } from "./state.js";

export const at = signal(0);

export function go(step) {
  const stops = tour.value || [];
  if (!stops.length) return;
  at.value = Math.min(stops.length - 1, Math.max(0, Math.min(stops.length - 1, at.value) + step));
  if (stops[at.value].fault) choose(stops[at.value].fault);
}

// follow goes to the stop that plays a run that begins, wherever it was started.
export function follow() {
  let last = null;
  effect(() => {
    const run = state.run.value;
    const stop = (tour.value || []).findIndex((one) => one.fault === run?.fault && one.variant === run?.variant);
    if (run && last != null && last !== run.id && stop >= 0) at.value = stop;
    if (tour.value) last = run?.id ?? "";
  });
}

export function Tour() {
  const stops = useValue(tour);
  const wanted = useValue(at);
  const whyNot = useValue(whyNotPlay);
  if (!stops?.length) return null;
  const here = Math.min(stops.length - 1, wanted); // a link may name a stop that does not exist
  const stop = stops[here];
  return html`
    <section class="tour" aria-label=${t`Tour`}>
      <p class="where"><b>${t`Tour`}</b> ${t`${here + 1} of ${stops.length}`}</p>
      <p class="stop" aria-live="polite"><b>${say(stop.title)}${t`.`}</b> ${say(stop.says)} ${stop.jargon ? html`<small><i>${say(stop.jargon)}</i></small>` : null}</p>
      <div class="steps">
        <${Button} class="quiet" why=${here === 0 ? t`this is the first stop` : ""} onClick=${() => go(-1)}><span aria-hidden="true">←</span> ${t`Previous`}<//>
        <${Button} class="quiet" why=${here === stops.length - 1 ? t`this is the last stop` : ""} onClick=${() => go(1)}>${t`Next`} <span aria-hidden="true">→</span><//>
        ${stop.fault ? html`<${Button} why=${whyNot} onClick=${() => play(stop.variant, stop.fault)}>${t`Play ${stop.fault} ${say(stop.variant)}`}<//>` : null}
      </div>
    </section>`;
}
