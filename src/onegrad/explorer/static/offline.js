// The page without a server: answers from numbers that were computed when it was written.
// `onegrad explore --export` puts them into the page; elsewhere `precomputed` is null.

import { Curve } from "./curve.js";
import { AXES, read, sizesOf, stepless, withValue } from "./state.js";

const near = (values, x, scale = (v) => v) =>
  values.reduce((p, q) => (Math.abs(scale(q) - scale(x)) < Math.abs(scale(p) - scale(x)) ? q : p));

/** The problem of a query, but for its step and its ridge. */
const bare = (state) => stepless(withValue(state, "ridge", "1"));

class Precomputed {
  constructor(numbers) {
    this.numbers = numbers;
  }

  /** Once the names of controls are known: the settings by their problem. */
  prepare() {
    if (this.curves) return;
    this.curves = new Map(); // by the problem without its step
    this.settings = new Map(); // by the problem without step and ridge
    for (const setting of this.numbers.settings) {
      const state = read(setting.query, {});
      const networks = new Curve();
      networks.add(setting.networks.map((p) => ({ ...p, eigenvalues: p.eigenvalues.map((v) => Math.log(v + 1e-12)) })));
      this.settings.set(bare(state), { ...setting, state, networks });
      for (const { ridge, instant, points } of setting.ridges)
        this.curves.set(stepless(withValue(state, "ridge", ridge)), { instant, points });
      for (const { query, points } of setting.stairs) this.curves.set(stepless(read(query, {})), { points });
    }
  }

  /** The nearest state that there are numbers for: step, ridge and size of the stairs may move. */
  nearest(next) {
    this.prepare();
    const setting = this.settings.get(bare(next));
    if (!setting) return this.last;
    const alpha = Number(next.alpha);
    const ridges = setting.ridges.map((r) => r.ridge);
    const sizes = setting.stairs.map((s) => s.query.n);
    let state = { ...next, ridge: near(ridges, next.ridge, Math.log) };
    if (sizes.length) state.stairs = near(sizes, next.stairs, Math.log);
    if ("alpha" in next) {
      const [low, high] = setting.alphas;
      const on = Math.min(high, Math.max(low, Math.round(alpha / AXES.alphaStep) * AXES.alphaStep));
      state = { ...state, alpha: String(Number(on.toFixed(3))) };
    } else if (Number(next.eta) > 0 && !setting.steps.some((s) => s.eta === next.eta))
      return this.nearest(withValue(state, "alpha", String(sizesOf(next).alpha)));
    return (this.last = state);
  }

  answer(path, search) {
    if (path === "/api/controls") return this.numbers.controls;
    this.prepare();
    const state = read(search, {});
    const setting = this.settings.get(bare(state.ridge ? state : { ...state, ridge: "1" }));
    const { alpha } = sizesOf(state);
    if (path === "/api/instant") return this.curves.get(stepless(state))?.instant;
    if (path === "/api/spectrum") return this.spectrum(setting, state, alpha);
    if (path === "/api/here") return this.here(setting, state, alpha);
    if (path === "/api/network") return this.network(setting, state, alpha);
    return undefined;
  }

  here(setting, state, alpha) {
    const offCurve = setting?.steps.find((s) => s.eta === state.eta)?.here?.[state.ridge];
    if (offCurve) return offCurve;
    const curve = new Curve();
    curve.add(this.curves.get(stepless(state))?.points ?? []);
    return curve.at(alpha);
  }

  spectrum(setting, state, alpha) {
    if (!setting) return undefined;
    const [low] = setting.alphas;
    const step = setting.steps.find((s) => s.eta === state.eta);
    const spectrum = step?.spectrum ?? setting.spectra[Math.round((alpha - low) / AXES.alphaStep)];
    return spectrum && { ...spectrum, notes: [] };
  }

  network(setting, state, alpha) {
    const untrained = setting?.steps.find((s) => s.eta === state.eta)?.network;
    if (untrained) return { ...untrained, seconds: 0 };
    const network = alpha === null ? null : setting?.networks.at(alpha);
    if (!network) return { refused: "the exported page has no network for this setting" };
    return { ...network, seconds: 0, eigenvalues: network.eigenvalues.map(Math.exp) };
  }

  /** The points of a curve, as the server would stream them. */
  points(search) {
    this.prepare();
    const axis = new URLSearchParams(search).get("axis");
    const points = axis === "alpha" ? this.curves.get(stepless(read(search, {})))?.points : null;
    return [...(points ?? []), { finished: true }];
  }

  /** Put the networks that were trained beforehand on the curves; close what needs a server. */
  furnish(simulations) {
    document.body.classList.add("exported");
    document.getElementById("where").textContent = this.numbers.about;
    for (const { state, simulation } of this.settings.values())
      if (simulation) simulations.keep(state, simulation);
    for (const input of document.querySelectorAll("#controls input, #controls select, #controls button"))
      if (!["ridge", "ridge-slider"].includes(input.id) && !input.closest(".help")) input.disabled = true;
  }
}

export const precomputed = globalThis.ONEGRAD ? new Precomputed(globalThis.ONEGRAD) : null;
