// Questions to the server, or to the numbers that the page has with it.

import { precomputed } from "./offline.js";

export class Complaint extends Error {
  constructor(field, message) {
    super(message);
    this.field = field;
  }
}

async function answered(response) {
  if (response.ok) return response;
  const body = await response.json().catch(() => ({ field: null, message: response.statusText }));
  throw new Complaint(body.field, body.message);
}

export async function ask(path, query = "", options = {}) {
  if (precomputed) {
    const found = precomputed.answer(path, query);
    if (found) return found;
    throw new Complaint(null, "this page has no numbers for that setting; onegrad explore computes them");
  }
  const response = await fetch(query ? `${path}?${query}` : path, options);
  return (await answered(response)).json();
}

export function send(path, body) {
  const options = { method: "POST", headers: { "content-type": "application/json" } };
  if (body !== undefined) options.body = JSON.stringify(body);
  return ask(path, "", options);
}

/** Calls `each` with every JSON line of the answer, as it comes. */
export async function stream(path, query, signal, each) {
  if (precomputed) return each(precomputed.points(query));
  const response = await answered(await fetch(`${path}?${query}`, { signal }));
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    const found = lines.filter((line) => line).map((line) => JSON.parse(line));
    if (found.length) each(found);
  }
}

/** One question in flight; of those that come meanwhile only the newest is asked. Remembers answers. */
export class Latest {
  constructor(path, keep = 400) {
    this.path = path;
    this.keep = keep;
    this.known = new Map();
    this.busy = false;
    this.next = null;
  }

  /** The answer if it is known; otherwise null, and `then(answer)` or `fail(error)` is called. */
  get(query, then, fail) {
    this.next = null;
    const known = this.known.get(query);
    if (known) return known;
    this.next = { query, then, fail };
    if (!this.busy) this.run();
    return null;
  }

  /** The answer, from memory or from the server; remembered. */
  async ask(query) {
    if (this.known.has(query)) return this.known.get(query);
    const answer = await ask(this.path, query);
    this.known.set(query, answer);
    if (this.known.size > this.keep) this.known.delete(this.known.keys().next().value);
    return answer;
  }

  async run() {
    this.busy = true;
    while (this.next) {
      const { query, then, fail } = this.next;
      this.next = null;
      try {
        then(await this.ask(query), query);
      } catch (error) {
        fail(error);
      }
    }
    this.busy = false;
  }
}
