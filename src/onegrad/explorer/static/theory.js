// What the theory says about the state: answers at once where known, refined as they come.

import { Curve } from "./curve.js";
import { Latest, stream } from "./http.js";
import { AXES, query, resized, ridgeless, SIZES, sizeless, stepless, withValue } from "./state.js";

const QUIET = { moving: 600, still: 60 }; // ms without a change before curves are computed
const QUICK = 0.2; // seconds: a network that is trained in less follows the slider
const CURVES = ["alpha", "sizes", "stairs"];

export class Theory {
  /** `changed(parts)` when something arrives, `failed(error)` when the server complains;
   *  `visible(part)`: whether a curve is in sight. */
  constructor(changed, failed, visible) {
    this.changed = changed;
    this.failed = failed;
    this.visible = visible;
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
    this.here = null; // errors at a step that lies off the curve
    this.far = null; // the spectrum at the end of the slider: how far spikes will go
    this.network = null; // one real network
    this.curves = new Map(); // by query; the newest last
    this.shown = { alpha: null, sizes: null, stairs: null }; // last curves that had something to show
    this.running = { alpha: null, sizes: null, stairs: null };
    this.fresh = { instant: false, spectrum: false, far: false, here: false, network: false };
  }

  /** Bring everything to this state. Returns at once; known answers are in place by then.
   *  `offCurve`: the step lies outside the curve; `moving`: the gesture goes on. */
  update(state, { offCurve, moving }) {
    this.state = state;
    this.refresh("instant", stepless(state));
    this.refresh("spectrum", ridgeless(state));
    this.fresh.here = false;
    this.asked.here = null;
    this.offCurve = offCurve; // its errors are asked for by themselves
    if (offCurve) this.refresh("here", query(state));
    if (!moving || this.network?.seconds < QUICK) this.trainOne();
    else this.fresh.network = false;
    for (const part of CURVES) {
      const key = this.key(part);
      const curve = this.curves.get(key);
      if (curve?.length) this.shown[part] = curve;
      if (this.running[part] && this.running[part].key !== key) this.stop(part);
    }
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
    this.refresh("network", `${ridgeless(this.state)}&seed=${this.seed}`);
  }

  refresh(name, key) {
    this.asked[name] = key;
    const arrived = (answer, question) => {
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

  /** Train, test and what is learned at an exponent; null when not known. */
  at(alpha) {
    if (this.fresh.here) return this.here;
    // between the first, coarse points a reading would be off by percents
    const complete = this.current("alpha") && this.shown.alpha.finished;
    return complete && alpha !== null ? this.shown.alpha.at(alpha) : null;
  }

  async compute() {
    const { state } = this;
    if (!this.offCurve && !this.curves.get(this.key("alpha"))?.finished) this.refresh("here", query(state));
    this.refresh("far", ridgeless(withValue(state, "alpha", String(AXES.alphas[1]))));
    this.trainOne();
    for (const part of CURVES) if (this.state === state && this.visible(part)) await this.run(part);
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
