// The page's language: the browser's, unless somebody chose one. English texts are the keys: texts/zh.json has each in
// Chinese, with {1}, {2} for what is put in. A text that it has not stays English.
import { count } from "./format.js";

const NAMES = { en: "English", zh: "中文" };
const chosen = localStorage.getItem("language") || navigator.language.slice(0, 2).toLowerCase();
export const language = chosen in NAMES ? chosen : "en";
export const otherLanguage = language === "en" ? "zh" : "en";
export const otherName = NAMES[otherLanguage];
document.documentElement.lang = { en: "en", zh: "zh-CN" }[language];

// inLanguage returns the name of a document in the page's language: a.md is a.zh-CN.md in Chinese.
export const inLanguage = (file) => (language === "en" ? file : file.replace(/\.md$/, `.${document.documentElement.lang}.md`));

// speak changes the language. The state of the page is the server's, so it is read again.
export function speak(name) {
  localStorage.setItem("language", name);
  location.reload();
}

const texts = language === "en" ? { page: {}, server: {} } : await (await fetch(`texts/${language}.json`)).json();

// fill puts values into a text: a string, or its pieces if a value is an element.
function fill(text, values) {
  const pieces = text.split(/\{(\d)\}/).map((piece, i) => (i % 2 ? values[piece - 1] : piece));
  return pieces.some((piece) => typeof piece === "object") ? pieces : pieces.join("");
}

// t writes a text of the page in its language: t`${n} of ${all}`.
export function t(parts, ...values) {
  const key = parts.reduce((text, part, i) => `${text}{${i}}${part}`);
  return fill(texts.page[key] ?? key, values);
}

// many writes a number with its noun: many(1, "order") is "1 order".
export const many = (n, noun) => fill(texts.page[`{1} ${noun}s`] ?? `{1} ${noun}${n === 1 ? "" : "s"}`, [count(n)]);

const patterns = Object.entries(texts.server).filter(([key]) => key.includes("{1}")).map(([key, text]) =>
  [new RegExp(`^${key.replace(/[.*+?^$()[\]\\|]/g, "\\$&").replace(/\{\d\}/g, "(.+?)")}$`), text]);
const known = new Map();

// tidy leaves spaces out between Chinese words, where values met.
const tidy = (text) => text.replace(/([\u4e00-\u9fff，。：（]) +(?=[\u4e00-\u9fff])/g, "$1").replace(/ +/g, " ").trim();

// say writes a text of the server in the page's language. The values in it are texts, too.
export function say(text) {
  if (language === "en" || !text) return text;
  if (Object.hasOwn(texts.server, text)) return texts.server[text];
  if (!known.has(text)) {
    if (known.size > 2000) known.clear();
    let found = text;
    for (const [pattern, into] of patterns) {
      const values = pattern.exec(text);
      if (values) {
        found = tidy(fill(into, values.slice(1).map(say)));
        break;
      }
    }
    known.set(text, found);
  }
  return known.get(text);
}
