// copy puts a text on the clipboard, or says how to take it by hand.
import { note, t } from "./ui.js";

export async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    note(t`Copied.`);
  } catch {
    note(t`The browser does not let this page copy. Select it here: ${text}`, true);
  }
}
