// The state that a link describes, or the defaults and what is wrong with the link.

import { read, strange } from "./state.js";

/** The state of a link, and what is wrong with it where it opens the defaults instead.
 *  `check(state)` throws what the server says of a state that it refuses. */
export async function opened(search, defaults, check) {
  const state = read(search, defaults);
  let wrong = strange(search);
  if (wrong === null && search.length > 1) {
    try {
      await check(state);
    } catch (error) {
      if (error instanceof TypeError) throw error; // the server did not answer
      wrong = error.message;
    }
  }
  return wrong === null ? { state, wrong } : { state: read("", defaults), wrong };
}
