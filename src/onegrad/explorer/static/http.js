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
    const answer = precomputed.answer(path, query);
    if (answer) return answer;
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
    const values = lines.filter((line) => line).map((line) => JSON.parse(line));
    if (values.length) each(values);
  }
}

/** One question in flight; of those that come meanwhile only the newest is asked. Remembers answers. */
export class Latest {
  constructor(path, keep = 400) {
    this.path = path;
    this.keep = keep;
    this.answers = new Map();
    this.busy = false;
    this.next = null;
  }

  /** The answer if it is known; otherwise null, and `then(answer)` or `fail(error)` is called. */
  get(query, then, fail) {
    this.next = null;
    const answer = this.answers.get(query);
    if (answer) return answer;
    this.next = { query, then, fail };
    if (!this.busy) this.run();
    return null;
  }

  /** The answer, from memory or from the server; remembered. */
  async ask(query) {
    if (this.answers.has(query)) return this.answers.get(query);
    const answer = await ask(this.path, query);
    this.answers.set(query, answer);
    if (this.answers.size > this.keep) this.answers.delete(this.answers.keys().next().value);
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
