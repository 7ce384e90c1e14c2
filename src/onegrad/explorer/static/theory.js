// What the theory says about the state: answers at once where known, refined as they come.

import { Latest, stream } from "./http.js";
import { query, ridgeless, sizeless, stepless, withValue } from "./state.js";

const QUIET = { moving: 600, still: 60 }; // ms without a change before curves are computed

/** Points of a curve by place; null where it could not be computed. */
class Curve {
  constructor() {
    this.points = new Map();
    this.finished = false;
  }

  add(found) {
    for (const point of found) {
      if (point.finished) this.finished = true;
      else this.points.set(point.x, point);
    }
    this.sorted = [...this.points.values()]
      .filter((p) => p.test !== undefined && p.test !== null)
      .sort((p, q) => p.x - q.x);
    this.complaint = [...this.points.values()].find((p) => p.unavailable)?.unavailable;
  }

  get length() {
    return this.sorted?.length ?? 0;
  }

  /** The point at x, between its neighbours; null outside or before two are known. */
  at(x) {
    const points = this.sorted ?? [];
    const after = points.findIndex((p) => p.x >= x);
    if (after < 0) return null;
    if (points[after].x === x) return points[after];
    if (after === 0) return null;
    const [p, q] = [points[after - 1], points[after]];
    return blend(p, q, (x - p.x) / (q.x - p.x));
  }
}

/** Every number of p and q, t of the way. */
function blend(p, q, t) {
  if (typeof p === "number" && typeof q === "number") return p + t * (q - p);
  if (Array.isArray(p) && Array.isArray(q) && p.length === q.length)
    return p.map((v, i) => blend(v, q[i], t));
  if (p && q && typeof p === "object" && !Array.isArray(p)) {
    return Object.fromEntries(Object.keys(p).map((k) => [k, blend(p[k], q[k], t)]));
  }
  return t < 0.5 ? p : q;
}

export class Theory {
  /** `changed(parts)` when something arrives, `failed(error)` when the server complains. */
  constructor(changed, failed) {
    this.changed = changed;
    this.failed = failed;
    this.latest = {
      instant: new Latest("/api/instant"),
      spectrum: new Latest("/api/spectrum", 2000),
      far: new Latest("/api/spectrum"),
      here: new Latest("/api/here"),
    };
    this.asked = {}; // the newest question of each kind
    this.shownKey = {}; // the question that the present answer answers
    this.instant = null;
    this.spectrum = null;
    this.here = null; // errors at a step that lies off the curve
    this.far = null; // the spectrum at the end of the slider: how far spikes will go
    this.curves = new Map(); // by query; the newest last
    this.shown = { alpha: null, sizes: null }; // last curves that had something to show
    this.running = { alpha: null, sizes: null };
    this.fresh = { instant: false, spectrum: false, far: false, here: false };
  }

  /** Bring everything to this state. Returns at once; known answers are in place by then.
   *  `offCurve`: the step lies outside the curve; `moving`: the gesture goes on. */
  update(state, { offCurve, moving }) {
    this.state = state;
    this.refresh("instant", stepless(state));
    this.refresh("spectrum", ridgeless(state));
    this.fresh.here = false;
    this.asked.here = null;
    if (offCurve) this.refresh("here", query(state));
    for (const part of ["alpha", "sizes"]) {
      const key = this.key(part);
      const curve = this.curves.get(key);
      if (curve?.length) this.shown[part] = curve;
      if (this.running[part] && this.running[part].key !== key) this.stop(part);
    }
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.compute(), moving ? QUIET.moving : QUIET.still);
  }

  key(part) {
    return part === "alpha" ? `${stepless(this.state)}&axis=alpha` : sizeless(this.state);
  }

  refresh(name, key) {
    this.asked[name] = key;
    const arrived = (answer, asked) => {
      this[name] = answer;
      this.shownKey[name] = asked;
      this.fresh[name] = asked === this.asked[name];
      this.changed([name]);
    };
    const known = this.latest[name].get(key, arrived, (error) => this.failed(error));
    this.fresh[name] = known !== null;
    if (known) {
      this[name] = known;
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
    return this.current("alpha") && alpha !== null ? this.shown.alpha.at(alpha) : null;
  }

  async compute() {
    const { state } = this;
    this.refresh("far", ridgeless(withValue(state, "alpha", "0.6")));
    for (const part of ["alpha", "sizes"]) if (this.state === state) await this.run(part);
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
      await stream("/api/curve", key, controller.signal, (found) => {
        curve.add(found);
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
