// The state of the page: strings by control name. It lives in the URL.

const PROBLEM = []; // names of the controls, in the order of the server's table
export const AXES = { alphas: [0, 0], alphaStep: 0, ratios: [0, 0] }; // ranges, from the table
export const THEORIES = []; // limit theories: key of their answer, label, about, dash
const PAGE = { axis: "n", seeds: "8", stairs: "100000" };
export const SIZES = [300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000]; // n of the stairs
const RIVAL = { d: "phi", phi: "d", N: "psi", psi: "N", alpha: "eta", eta: "alpha" };

/** Take the names that a state may have, the ranges of axes and the theories from the server's table. */
export function takeTable({ controls, alpha_step: alphaStep, ratios, theories }) {
  PROBLEM.splice(0, PROBLEM.length, ...controls.map((control) => control.name));
  const alphas = controls.find((control) => control.name === "alpha").slider;
  Object.assign(AXES, { alphas, alphaStep, ratios });
  THEORIES.splice(0, THEORIES.length, ...theories);
}

/** The state that a query (a URL's text, or values by name) and the defaults describe. */
export function read(search, defaults) {
  const parameters = new URLSearchParams(search);
  const state = { ...PAGE };
  for (const name of PROBLEM) {
    if (parameters.get(name)) state[name] = parameters.get(name);
    else if (name in defaults && !parameters.get(RIVAL[name])) state[name] = defaults[name];
  }
  for (const name of Object.keys(PAGE)) if (parameters.get(name)) state[name] = parameters.get(name);
  if (state.axis !== "N") state.axis = "n";
  if (!SIZES.includes(Number(state.stairs))) state.stairs = PAGE.stairs;
  if (/^[1-9]$/.test(parameters.get("tour"))) state.tour = parameters.get("tour");
  return state;
}

/** The state with one value changed; a size and its ratio, alpha and eta, replace one another. */
export function withValue(state, name, value) {
  const next = { ...state };
  if (RIVAL[name]) delete next[RIVAL[name]];
  next[name] = value;
  if (value === "" && name === "n_step") delete next[name];
  return next;
}

/** The query of the problem; `without` leaves names out. */
export function query(state, without = []) {
  const pairs = PROBLEM.filter((name) => name in state && !without.includes(name));
  return new URLSearchParams(pairs.map((name) => [name, state[name]])).toString();
}

/** The problem but for its step: what a curve against alpha depends on. */
export const stepless = (state) => query(state, ["alpha", "eta"]);

/** The problem but for its ridge: what the spectrum depends on. */
export const ridgeless = (state) => query(state, ["ridge"]);

/** The same, but for one size: what a curve against that size depends on. */
export const sizeless = (state) => `${query(state)}&axis=${state.axis}`;

/** n, d, N, alpha and eta of the state, as far as they are numbers. */
export function sizesOf(state) {
  const number = (name) => (state[name]?.trim() ? Number(state[name]) : NaN); // nothing is no zero
  const n = number("n");
  const d = "d" in state ? number("d") : Math.round(number("phi") * n);
  const N = "N" in state ? number("N") : Math.round(d / number("psi"));
  const eta = "eta" in state ? number("eta") : n ** number("alpha");
  const alpha = "alpha" in state ? number("alpha") : Math.log(eta) / Math.log(n);
  return { n, d, N, eta, alpha: Number.isFinite(alpha) ? alpha : null };
}

/** The problem at another size n, everything else in proportion: what a curve of stairs depends on. */
export function resized(state, n) {
  const next = { ...asRatios(state, true), n: String(n) };
  const rows = Number(state.n_step) / Number(state.n);
  return "n_step" in state ? { ...next, n_step: String(Math.round(rows * n)) } : next;
}

/** What a link has that is no part of a state: names that are not known, values of the page itself. */
export function strange(search) {
  const parameters = new URLSearchParams(search);
  const known = [...PROBLEM, ...Object.keys(PAGE), "tour", "embed"];
  const unknown = [...parameters.keys()].filter((name) => !known.includes(name));
  if (unknown.length) return `there is no control ${unknown[0].slice(0, 40)}`;
  const twice = PROBLEM.find((name) => parameters.getAll(name).length > 1 || (parameters.has(name) && parameters.has(RIVAL[name])));
  if (twice) return `${twice} is given twice`;
  if (parameters.has("axis") && !["n", "N"].includes(parameters.get("axis"))) return "axis must be n or N";
  return null;
}

/** The state with its sizes as the ratios phi and psi, or as d and N. */
export function asRatios(state, ratios) {
  const { n, d, N } = sizesOf(state);
  const pairs = Object.entries(ratios ? { phi: d / n, psi: d / N } : { d, N });
  return pairs.reduce((s, [name, value]) => withValue(s, name, String(Number(value.toPrecision(6)))), state);
}

export function address(state) {
  const names = [...Object.keys(PAGE), "tour"].filter((name) => name in state);
  const rest = new URLSearchParams(names.map((name) => [name, state[name]]));
  const frame = new URLSearchParams(location.search).has("embed") ? "&embed" : "";
  return `${location.pathname}?${query(state)}&${rest}${frame}`;
}

/** Writes the URL: a new entry when a gesture begins, the same entry while it lasts. */
export class Address {
  constructor() {
    this.moving = false;
    this.due = null;
  }

  show(state, moving) {
    if (!this.moving) history.pushState(null, "", address(state));
    else this.later(state);
    this.moving = moving;
    if (!moving) this.now(state);
  }

  later(state) {
    // browsers refuse hundreds of entries in a few seconds
    clearTimeout(this.due);
    this.due = setTimeout(() => history.replaceState(null, "", address(state)), 150);
  }

  now(state) {
    clearTimeout(this.due);
    history.replaceState(null, "", address(state));
  }
}
