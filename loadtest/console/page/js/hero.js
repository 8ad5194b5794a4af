// The headline: the pieces sold, and whether that is right.
import { Button, h, html, many, notNow, say, t, useEffect, useState, useValue } from "./ui.js";
import { brokenByHand, chosenFault, connection, halt, offered, play, running, state, whyNotPlay } from "./state.js";
import { compareBars, sentence, verdictWord } from "./parts.js";
import { span } from "./format.js";
import { copy } from "./copy.js";
import { flags } from "./scenario.js";

// Spoken repeats the verdict for screen readers, once it has not changed for a second.
export function Spoken({ text }) {
  const [said, say] = useState("");
  useEffect(() => {
    const later = setTimeout(() => say(text), 1000);
    return () => clearTimeout(later);
  }, [text]);
  return html`<p class="hidden" role="status" aria-live="polite">${said}</p>`;
}

function runWords(run) {
  const parts = [];
  if (run.says) parts.push(say(run.says));
  if (run.buyers) parts.push(many(run.buyers, "buyer"));
  if (run.stock) parts.push(run.goods > 1 ? t`${many(run.stock, "piece")} of ${run.goods} products` : many(run.stock, "piece"));
  if (run.strategy) parts.push(run.strategy);
  if (run.seed) parts.push(t`seed ${run.seed}`);
  if (run.attempt > 1) parts.push(t`try ${run.attempt} of ${run.attempts}`);
  return parts.join(" · ");
}

const UNDER = {
  RUNNING: t`Orders are on their way. The books on the page are read while they run.`,
  "WRONG SO FAR": t`The run goes on, and its books are wrong already. The judge reads them, and all answers, when it has settled.`,
  VIOLATION: t`This must never happen. The books and the verdict say what did.`,
  PASS: t`Every order came to one end, and every piece is in the books once.`,
  UNKNOWN: t`The judge could not read everything, so it does not say that all is well.`,
  SLOW: t`Every order came to one end, and every piece is in the books once: the fault costs time. Press Fixed to compare.`,
  "NOT JUDGED": t`It ended before there was anything to judge.`,
  "NOT CAUGHT THIS TIME": t`The fault is there, but it did not show with these seeds. A race does not strike each time: press Broken again.`,
};

const ATTACHED = t`This console watches a stack that it did not start. Fire at it under Free play, or have another process fire: the rates and the books show here.`;

export function Hero() {
  const hero = useValue(state.hero);
  const run = useValue(state.run);
  const fault = useValue(chosenFault);
  const whyNot = useValue(whyNotPlay);
  const isRunning = useValue(running);
  const offer = useValue(offered);
  const byHand = useValue(brokenByHand);
  const doing = useValue(state.doing);
  const compare = useValue(state.compare);
  const online = useValue(connection);
  const attached = useValue(state.mode) === "attached";
  const lastSample = useValue(state.samples).at(-1)?.t_ms || 0;
  const reasons = useValue(state.verdict)?.reasons || [];
  const word = hero?.word || "";
  const text = hero?.sentence || "";
  const idle = online === "connecting" ? t`One moment` : t`More buyers than tickets`;
  return html`
    <section class="hero" aria-label=${t`What was sold`}>
      <div class="say">
        <p class="what">${run ? html`<b>${say(run.title)}</b> ${runWords(run) ? html`<span>${runWords(run)}</span>` : null}` : t`Nothing has been fired yet.`}</p>
        <h1 class=${text.length > 32 ? "long" : ""}>
          ${text ? sentence(say(text)) : html`<span class="sentence">${idle}</span>`}
          ${word ? verdictWord(word) : null}
        </h1>
        <p class="under">${doing && (isRunning || !hero) ? html`<span class="doing">${say(doing)} …</span> ` : null}
          ${UNDER[word] || attached && ATTACHED || t`Press Broken: the published version oversells. Press Fixed: the same buyers, and the books stay right.`}
          ${word === "UNKNOWN" ? reasons.map((why) => html` ${say(why)}.`) : null}</p>
        ${run?.command ? html`<p class="command"><code>${flags(run.command)}</code> <button type="button" class="quiet"
          onClick=${() => copy(run.command)}>${t`Copy as command`}</button>${byHand && run.fault ? html` <small>${t`without what was broken by hand`}</small>` : null}</p>` : null}
        <${Spoken} text=${word && word !== "RUNNING" ? `${say(word).toLowerCase()}: ${say(text)}` : ""} />
      </div>
      <div class="press">
        <p>${fault ? html`<b class="letter">${fault.letter}</b> ${say(fault.title)}` : t`The published faults are loading.`}</p>
        <div class="two">
          <${Button} class="broken" why=${whyNot} keys="B" onClick=${() => play("broken")}>${t`Broken`}<//>
          <${Button} class="fixed" why=${whyNot} keys="X" onClick=${() => play("fixed")}>${t`Fixed`}<//>
          <${Button} class="here" why=${whyNot} keys="H" onClick=${() => play("here")}>${t`As it runs here`}<//>
        </div>
        <p class="why">${isRunning ? html`<span>${run?.orders ? `${many(run.orders, "order")}, ` : ""}${run ? t`${span(Math.max(run.elapsed_ms || 0, lastSample))} so far.` : ""}</span>
          <button type="button" class="quiet" onClick=${halt}>${t`Stop`}</button>`
          : whyNot ? notNow(whyNot) : offer && fault && (run?.fault !== fault.letter || run.variant !== offer) ? t`This link offers fault ${fault.letter}, ${say(offer)}. Press it to play it.`
          : t`All three run on real servers, with the same seed.`}</p>
        ${compare ? compareBars(compare) : null}
      </div>
    </section>`;
}

// tabTitle says the state of the run in the tab.
export const tabTitle = (hero) => (hero ? `${hero.word ? `${say(hero.word)}: ` : ""}${say(hero.sentence)} · orderstock` : t`orderstock console`);
