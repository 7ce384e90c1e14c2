// What a link says: a state, or the defaults and why.

import { ask } from "./http.js";
import { read, ridgeless, stepless, strange } from "./state.js";

/** The state of a link, and what is wrong with it where it opens the defaults instead. */
export async function opened(search, defaults) {
  const state = read(search, defaults);
  let wrong = strange(search);
  if (wrong === null && search.length > 1) {
    try {
      await ask("/api/instant", stepless(state));
      await ask("/api/spectrum", ridgeless(state));
    } catch (error) {
      if (error instanceof TypeError) throw error; // nobody answered
      wrong = error.message;
    }
  }
  return wrong === null ? { state, wrong } : { state: read("", defaults), wrong };
}
