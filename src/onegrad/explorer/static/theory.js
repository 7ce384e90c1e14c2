// What the theory says about the state: answers at once where known, refined as they come.

import { Curve } from "./curve.js";
import { Latest, stream } from "./http.js";
import { AXES, query, resized, ridgeless, SIZES, sizeless, sizesOf, stepless, withValue } from "./state.js";

const QUIET = { moving: 150, still: 60 }; // ms without a change before curves are computed
const QUICK = 0.2; // seconds: a network that is trained in less follows the slider
const CURVES = ["alpha", "sizes", "stairs"];

export class Theory {
  /** `changed(parts)` when something arrives, `failed(error)` when the server complains;
   *  `needed(part)`: whether a card that shows it is in sight. */
  constructor(changed, failed, needed) {
    this.changed = changed;
    this.failed = failed;
    this.needed = needed;
    this.latest = {
      instant: new Latest("/api/instant"),
      spectrum: new Latest("/api/spectrum", 2000),
      far: new Latest("/api/spectrum"),
      here: new Latest("/api/here"),
      network: new Latest("/api/network", 40),
    };
    this.seed = 0; // of the network
    this.asked = {}; // the newest question of each kind
    this.shownKey = {}; // the question that the present answer answers
    this.instant = null;
    this.spectrum = null;
    this.here = null; // errors at the step, where no curve has them
    this.far = null; // the spectrum at the end of the slider: how far spikes will go
    this.network = null; // one real network
    this.curves = new Map(); // by query; the newest last
    this.shown = { alpha: null, sizes: null, stairs: null }; // last curves that had something to show
    this.running = { alpha: null, sizes: null, stairs: null };
    this.fresh = { instant: false, spectrum: false, far: false, here: false, network: false };
  }

  /** Bring everything to this state. Returns at once; known answers are in place by then.
   *  While the gesture goes on (`moving`) only single points are asked for, the newest first. */
  update(state, moving) {
    this.state = state;
    for (const part of CURVES) {
      const key = this.key(part);
      const curve = this.curves.get(key);
      if (curve?.length) this.shown[part] = curve;
      if (this.running[part] && this.running[part].key !== key) this.stop(part);
    }
    if (this.onCurve()) {
      this.asked.here = this.here = null;
      this.fresh.here = false;
    } else this.refresh("here", query(state)); // first: the eye waits for it, one process answers
    this.refresh("spectrum", ridgeless(state));
    this.refresh("instant", stepless(state));
    if (!moving || this.network?.seconds < QUICK) this.trainOne();
    else this.fresh.network = false;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.compute(), moving ? QUIET.moving : QUIET.still);
  }

  /** Ask for what every view needs; throws what the server says of a state that it refuses. */
  async check(state) {
    await this.latest.instant.ask(stepless(state));
    await this.latest.spectrum.ask(ridgeless(state));
  }

  key(part) {
    if (part === "stairs") return this.stairsKey(this.state.stairs);
    return part === "alpha" ? `${stepless(this.state)}&axis=alpha` : sizeless(this.state);
  }

  stairsKey(n) {
    return `${stepless(resized(this.state, n))}&axis=alpha`;
  }

  /** The size at which the stairs are drawn, its curve, and those of other sizes that are known. */
  stairs() {
    const problem = stepless(this.state);
    if (this.sizeKeys?.problem !== problem)
      this.sizeKeys = { problem, keys: SIZES.map((n) => [n, this.stairsKey(n)]) };
    const curves = this.sizeKeys.keys.map(([n, key]) => [n, this.curves.get(key)]);
    const n = Number(this.state.stairs);
    const curve = curves.find(([own]) => own === n)[1];
    return { n, curve, others: curves.filter(([, other]) => other?.finished) };
  }

  /** Train the network of the present step. */
  trainOne() {
    if (this.needed("network")) this.refresh("network", `${ridgeless(this.state)}&seed=${this.seed}`);
    else {
      this.asked.network = null;
      this.fresh.network = false;
    }
  }

  /** The network, unless it is one of another problem: only its step may be of a moment ago. */
  networkShown() {
    const problem = (key) => stepless(Object.fromEntries(new URLSearchParams(key ?? "")));
    return problem(this.shownKey.network) === problem(ridgeless(this.state)) ? this.network : null;
  }

  refresh(name, key) {
    this.asked[name] = key;
    const arrived = (answer, question) => {
      // the present question has been answered meanwhile, from memory: this is an old one's answer
      if (question !== this.asked[name] && (this.fresh[name] || this.asked[name] === null)) return;
      this[name] = answer;
      this.shownKey[name] = question;
      this.fresh[name] = question === this.asked[name];
      this.changed([name]);
    };
    const failed = (error) => key === this.asked[name] && this.failed(error);
    const answer = this.latest[name].get(key, arrived, failed);
    this.fresh[name] = answer !== null;
    if (answer) {
      this[name] = answer;
      this.shownKey[name] = key;
    }
  }

  /** Whether the curve that is shown belongs to the present state. */
  current(part) {
    return this.shown[part] !== null && this.shown[part] === this.curves.get(this.key(part));
  }

  /** Whether a finished curve has the present step on it. */
  onCurve() {
    const { alpha } = sizesOf(this.state);
    const [low, high] = AXES.alphas;
    // between the first, coarse points a reading would be off by percents
    return alpha >= low && alpha <= high && alpha !== null && this.current("alpha") && this.shown.alpha.finished;
  }

  /** Train, test and what is learned at the present step; null when not known. */
  at() {
    if (this.fresh.here) return this.here;
    return this.onCurve() ? this.shown.alpha.at(sizesOf(this.state).alpha) : null;
  }

  /** Whether everything that was asked for has arrived. */
  get idle() {
    const waiting = Object.keys(this.asked).some((name) => this.asked[name] && !this.fresh[name]);
    return this.timer === null && !waiting && !CURVES.some((part) => this.running[part]);
  }

  /** Ask for what the cards in sight still lack: single answers, then curves, coarse points first. */
  async compute() {
    clearTimeout(this.timer);
    this.timer = null;
    const { state } = this;
    if (this.needed("far")) this.refresh("far", ridgeless(withValue(state, "alpha", String(AXES.alphas[1]))));
    this.trainOne();
    for (const part of CURVES) if (this.state === state && this.needed(part)) await this.run(part);
  }

  stop(part) {
    this.running[part]?.controller.abort();
    this.running[part] = null;
  }

  async run(part) {
    const key = this.key(part);
    if (this.running[part]?.key === key || this.curves.get(key)?.finished) return;
    this.stop(part);
    const controller = new AbortController();
    this.running[part] = { key, controller };
    const curve = this.curves.get(key) ?? new Curve();
    this.curves.set(key, curve);
    if (this.curves.size > 200) this.curves.delete(this.curves.keys().next().value);
    try {
      await stream("/api/curve", key, controller.signal, (points) => {
        curve.add(points);
        if (this.key(part) === key && curve.length) {
          this.shown[part] = curve;
          this.changed([part]);
        }
      });
    } catch (error) {
      if (error.name !== "AbortError") this.failed(error);
    }
    if (this.running[part]?.controller === controller) this.running[part] = null;
  }
}
