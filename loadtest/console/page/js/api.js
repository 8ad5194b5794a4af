// Calls to the server. Each throws an Error whose message is the server's own words.
import { note, say, t } from "./ui.js";

async function call(method, path, body) {
  let response;
  try {
    response = await fetch(path, {
      method, headers: body === undefined ? {} : { "Content-Type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch {
    throw new Error(t`the console does not answer; is it still running?`);
  }
  const text = await response.text();
  let value = null;
  try { value = text ? JSON.parse(text) : null; } catch { /* an answer that is not JSON is described by its status */ }
  if (!response.ok) throw new Error(say(value?.detail || value?.title) || t`the console answered ${response.status}`);
  return value;
}

// sheet returns a report in the page's language, which the server has escaped.
export async function sheet(path) {
  const response = await fetch(path);
  if (!response.ok) throw new Error(t`the console answered ${response.status}`);
  const [body] = /<body[^]*/.exec(await response.text()); // the page has its style, and allows no other
  const page = new DOMParser().parseFromString(body, "text/html");
  return page.querySelector(`.report[lang="${document.documentElement.lang}"]`).outerHTML;
}

export const get = (path) => call("GET", path);
export const post = (path, body = {}) => call("POST", path, body);

// act posts and notes at the foot of the page what came of it, if the answer says so. It returns the answer, or null if
// it failed.
export async function act(path, body) {
  try {
    const answer = await post(path, body);
    if (answer?.text) note(say(answer.text));
    return answer || {};
  } catch (error) {
    note(error.message, true);
    return null;
  }
}
