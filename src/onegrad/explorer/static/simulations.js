// Simulations: one at a time, with progress and cancel; results stay while the page is open.

import { byId, plainNumber } from "./controls.js";
import { Complaint, send, ask } from "./http.js";
import { query, stepless } from "./state.js";

const PAGE = crypto.randomUUID();
const seconds = (s) => (s < 90 ? `${Math.max(1, Math.round(s))} s` : `${Math.round(s / 60)} min`);

export class Simulations {
  constructor(state, changed, setSeeds) {
    this.state = state;
    this.changed = changed;
    this.results = new Map(); // by the problem without its step
    this.running = null;
    byId("simulate").addEventListener("click", () => this.start(false));
    byId("confirm-yes").addEventListener("click", () => this.start(true));
    byId("confirm-no").addEventListener("click", () => this.ask(null));
    byId("cancel").addEventListener("click", () => this.cancel());
    byId("seeds").addEventListener("change", () => setSeeds(byId("seeds").value));
    addEventListener(
      "pagehide",
      () => this.running && navigator.sendBeacon?.(`/api/simulations/${this.running}/cancel`),
    );
  }

  /** What was simulated for this state: points by axis; eigenvalues where the step is the same. */
  forState(state) {
    const result = this.results.get(stepless(state));
    if (!result) return null;
    const here = result.steps.get(query(state)) ?? {};
    return { alpha: [...result.alpha.values()], ...here };
  }

  ask(text) {
    byId("confirm").hidden = text === null;
    byId("confirm-text").textContent = text ?? "";
  }

  say(text) {
    byId("simulation-status").textContent = text;
  }

  buttons(running) {
    byId("simulate").disabled = running;
    byId("cancel").hidden = !running;
    byId("progress").hidden = !running;
  }

  async start(confirmed, seeds = plainNumber(byId("seeds").value)) {
    this.ask(null);
    byId("error-seeds").textContent = "";
    const state = { ...this.state() };
    const parts = [...document.querySelectorAll("#parts input:checked")].map((box) => box.value);
    const body = {
      page: PAGE,
      query: Object.fromEntries(new URLSearchParams(query(state))),
      seeds,
      axis: state.axis,
      parts,
      confirmed,
    };
    this.buttons(true);
    byId("progress").removeAttribute("value");
    try {
      const answer = await send("/api/simulations", body);
      if (answer.confirm) {
        this.buttons(false);
        this.ask(`This takes about ${seconds(answer.seconds)}.`);
        return;
      }
      this.running = answer.id;
      await this.follow(state);
    } catch (error) {
      if (error instanceof Complaint && error.field === "seeds")
        byId("error-seeds").textContent = error.message;
      else this.say(error.message);
    }
    this.running = null;
    this.buttons(false);
    this.changed();
  }

  async follow(state) {
    let seen = 0;
    for (;;) {
      const answer = await ask(`/api/simulations/${this.running}`, `since=${seen}`);
      seen = answer.seen;
      for (const summary of answer.found) this.keep(state, summary);
      if (answer.found.length) this.changed();
      byId("progress").value = answer.progress;
      this.say(answer.message);
      if (answer.status !== "running") return;
      await new Promise((wake) => setTimeout(wake, 200));
    }
  }

  keep(state, summary) {
    const key = stepless(state);
    if (!this.results.has(key)) this.results.set(key, { alpha: new Map(), steps: new Map() });
    const result = this.results.get(key);
    const step = query(state);
    if (!result.steps.has(step)) result.steps.set(step, {});
    const here = result.steps.get(step);
    if (summary.axis === "alpha") for (const point of summary.points) result.alpha.set(point.x, point);
    else if (summary.axis) here[summary.axis] = summary.points;
    else Object.assign(here, summary);
  }

  async cancel() {
    if (this.running) await send(`/api/simulations/${this.running}/cancel`);
  }
}
