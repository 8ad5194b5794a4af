// What every module of the page draws with: Preact's h and htm, hooks, and a few small elements.
import { h, html, render, useEffect, useLayoutEffect, useMemo, useRef, useState } from "../vendor/htm/standalone.module.js";
import { batch, computed, effect, signal } from "../vendor/signals/signals-core.module.js";
import { inLanguage, many, say, t } from "./text.js";

export { batch, computed, effect, h, html, inLanguage, many, render, say, signal, t, useEffect, useLayoutEffect, useMemo, useRef, useState };

// useValue returns a signal's value and renders the component again when it changes.
export function useValue(source) {
  const [, again] = useState(0);
  const shown = useRef();
  shown.current = source.value;
  useEffect(() => effect(() => {
    if (source.value !== shown.current) again((n) => n + 1);
  }), [source]);
  return shown.current;
}

// useWidth returns a ref and the width in px of the element that it is on.
export function useWidth() {
  const ref = useRef(null);
  const [width, setWidth] = useState(0);
  useLayoutEffect(() => {
    const measure = () => ref.current && setWidth(Math.floor(ref.current.clientWidth));
    const observer = new ResizeObserver(measure);
    observer.observe(ref.current);
    measure();
    return () => observer.disconnect();
  }, []);
  return [ref, width];
}

// notNow explains why something is impossible. A whole sentence is kept; anything else names the present obstacle.
export const notNow = (why) => (/^[A-Z].*\.$/.test(why) ? say(why) : t`Not now: ${why}.`);

// Button is a button that says why it cannot be pressed: why is "" if it can. It stays focusable,
// so that a keyboard or a screen reader reaches the reason too.
export function Button({ why, onClick, children, class: kind = "", keys, ...rest }) {
  return html`<button type="button" ...${rest} class=${kind} aria-disabled=${why ? "true" : null} title=${why ? notNow(why) : rest.title}
    onClick=${(event) => { if (why) note(notNow(why)); else onClick?.(event); }}>
    ${children}${keys ? html` <kbd aria-hidden="true">${keys}</kbd>` : null}</button>`;
}

// Panel is a section with a heading.
export const Panel = ({ id, title, aside, class: kind = "", children }) => html`
  <section id=${id} class="panel ${kind}" aria-labelledby="${id}-title">
    <div class="panel-head"><h2 id="${id}-title">${title}</h2>${aside}</div>${children}
  </section>`;

// Empty says in words why there is nothing to see.
export const Empty = ({ children }) => html`<p class="empty">${children}</p>`;

// The note at the foot of the page: the result of an action. It disappears by itself.
export const noted = signal({ text: "", bad: false });
let leaving = 0;
export function note(text, bad = false) {
  clearTimeout(leaving);
  noted.value = { text, bad };
  leaving = setTimeout(() => { noted.value = { text: "", bad: false }; }, bad ? 12000 : 6000);
}
