// The page: state, controls, theory, views and simulations wired together.

import { Controls, element } from "./controls.js";
import * as exports from "./exports.js";
import { short, thresholdName } from "./figures.js";
import { ask } from "./http.js";
import { Simulations } from "./simulations.js";
import { Address, query, read, ridgeless, stepless, takeNames, withValue } from "./state.js";
import { Theory } from "./theory.js";
import { Views, VIEWS } from "./views.js";

const address = new Address();
const byId = (id) => document.getElementById(id);
let table, state, controls, theory, views, simulations;
let codeView = "errors";
let lastComplaint = null;
let painting = new Set();

/** Milliseconds from a change to the repaint that shows it; read by tests and benchmarks. */
const clock = {
  latencies: { errors: [], spectrum: [] },
  began: { errors: new Map(), spectrum: new Map() },
  changed(view, key) {
    if (this.began[view].size > 500) this.began[view].clear();
    this.began[view].set(key, performance.now());
  },
  painted(view, key) {
    const began = this.began[view].get(key);
    if (began === undefined) return;
    this.began[view].delete(key);
    requestAnimationFrame(() => this.latencies[view].push(performance.now() - began));
  },
};

/** n, d, N, alpha and eta of the state, as far as they are numbers. */
function sizesNow() {
  const n = Number(state.n);
  const d = "d" in state ? Number(state.d) : Math.round(Number(state.phi) * n);
  const N = "N" in state ? Number(state.N) : Math.round(d / Number(state.psi));
  const eta = "eta" in state ? Number(state.eta) : n ** Number(state.alpha);
  const alpha = "alpha" in state ? Number(state.alpha) : Math.log(eta) / Math.log(n);
  return { n, d, N, eta, alpha: Number.isFinite(alpha) ? alpha : null };
}

/** Everything the views show, in one value. */
function model() {
  const now = sizesNow();
  const { alpha } = now;
  const spikes = [theory.far, theory.spectrum].flatMap((found) => found?.spikes ?? []);
  const farthest = Math.sqrt(Math.max(0, ...spikes.map((spike) => spike.eigenvalue)));
  return {
    state,
    alpha,
    sizesNow: now,
    instant: theory.instant,
    spectrum: theory.spectrum,
    farthest,
    curve: theory.shown.alpha,
    sizes: theory.shown.sizes,
    here: theory.at(alpha),
    simulation: simulations.forState(state),
    stale: {
      spectrum: !theory.fresh.spectrum,
      curve: !theory.current("alpha"),
      sizes: !theory.current("sizes"),
    },
  };
}

/** Paint these views with the next frame. */
function repaint(names) {
  if (!painting.size) requestAnimationFrame(paintNow);
  names.forEach((name) => painting.add(name));
}

function paintNow() {
  const names = VIEWS.filter((name) => painting.has(name));
  painting = new Set();
  const shown = model();
  views.paint(shown, names);
  views.age(stale());
  readings(shown);
  notes(shown);
  clock.painted("errors", `${theory.shownKey.instant} ${shown.alpha}`);
  if (names.includes("spectrum")) clock.painted("spectrum", theory.shownKey.spectrum);
}

/** Which views show an earlier state. */
function stale() {
  const curve = !theory.current("alpha");
  return {
    spectrum: !theory.fresh.spectrum,
    errors: !theory.fresh.instant,
    learned: curve,
    sizes: !theory.current("sizes"),
  };
}

function readings({ alpha, here, instant, sizesNow: now }) {
  const parts = [];
  const add = (className, label, value) =>
    parts.push(element("span", { className }, `${label} `, element("b", {}, value)));
  add("", "η =", short(now.eta));
  if (instant && alpha !== null) {
    const count = instant.thresholds.filter((x) => x < alpha).length;
    add("", "asymptotic spikes ℓ =", count > 4 ? "≥ 5" : String(count));
  }
  if (here) {
    add("train", "train", here.train.toFixed(4));
    add("test", "test", here.test.toFixed(4));
  } else parts.push(element("span", { className: "wait" }, "computing the errors …"));
  byId("readings").replaceChildren(...parts);
}

/** The theory has something new. */
function arrived(parts) {
  complain(null);
  const affected = {
    instant: ["errors"],
    spectrum: ["spectrum"],
    far: ["spectrum"],
    here: ["learned"],
    alpha: ["errors", "learned"],
    sizes: ["sizes"],
  };
  const names = parts.flatMap((part) => affected[part]);
  if (parts.includes("instant")) {
    afterInstant();
    if (theory.current("alpha")) names.push("learned");
    if (theory.current("sizes") || !views.painted.sizes) names.push("sizes");
  }
  repaint(names);
}

function afterInstant() {
  const { instant } = theory;
  const [low, high] = instant.alphas;
  const ticks = instant.thresholds.map((x, i) => {
    const tick = element("span", { title: `threshold of spike ${i + 1}` }, thresholdName(x));
    tick.style.left = `${(100 * (x - low)) / (high - low)}%`;
    return tick;
  });
  byId("ticks").replaceChildren(...ticks);
}

/** What the theories assume and this setting does not meet. */
function notes({ instant, here, curve }) {
  if (!instant) return;
  const { staircase, small_step: smallStep } = instant;
  const found = [
    ...instant.notes,
    staircase.unavailable,
    smallStep.unavailable,
    ...(here?.notes ?? []),
    curve?.complaint,
  ].filter(Boolean);
  const text = [...new Set(found)];
  if (byId("notes").dataset.shown === text.join("\n")) return;
  byId("notes").dataset.shown = text.join("\n");
  byId("notes").replaceChildren(...text.map((note) => element("li", {}, note)));
}

/** The server complained about the present state: say so at the field and keep the picture. */
function complain(error) {
  if (error === null && !(theory.fresh.instant && theory.fresh.spectrum)) return;
  lastComplaint = error;
  controls.complain(error);
  byId("connection").textContent =
    error === null || error.field
      ? ""
      : error instanceof TypeError
        ? "The server does not answer; is it still running?"
        : error.message;
}

/** A control was changed: `moving` while the gesture lasts. */
function set(name, value, moving) {
  if (name === "ratios") state = asRatios(value);
  else state = withValue(state, name, value);
  if (moving) {
    clock.changed("errors", `${stepless(state)} ${sizesNow().alpha}`);
    clock.changed("spectrum", ridgeless(state));
  }
  address.show(state, moving);
  follow(moving);
  if (!moving) code();
}

function asRatios(ratios) {
  const { n, d, N } = sizesNow();
  const pairs = ratios
    ? [
        ["phi", d / n],
        ["psi", d / N],
      ]
    : [
        ["d", d],
        ["N", N],
      ];
  return pairs.reduce((s, [name, value]) => withValue(s, name, String(Number(value.toPrecision(6)))), state);
}

/** Bring controls, theory and views to the state: what is known is painted, the rest greyed. */
function follow(moving = false) {
  controls.show(state, sizesNow());
  const { alpha } = sizesNow();
  const [low, high] = table.controls.find((control) => control.name === "alpha").slider;
  theory.update(state, { offCurve: alpha === null || alpha < low || alpha > high, moving });
  const { instant, spectrum } = theory.fresh;
  if (instant && spectrum) complain(null);
  presets();
  if (!theory.instant) return;
  const moved = paintedFor !== stepless(state);
  paintedFor = stepless(state);
  const names = [];
  if (spectrum) names.push("spectrum");
  if (moved && instant) names.push("errors");
  if (theory.current("alpha")) names.push("learned");
  if (moved && theory.current("sizes")) names.push("sizes");
  repaint(names.length ? names : ["cursor"]);
}
let paintedFor = null; // the problem without its step

function presets() {
  for (const button of byId("presets").children) {
    const preset = table.presets.find((p) => p.name === button.textContent);
    button.setAttribute(
      "aria-pressed",
      String(query(read(`?${new URLSearchParams(preset.query)}`, {})) === query(state)),
    );
  }
}

async function code() {
  try {
    const answer = await ask("/api/code", `${query(state)}&view=${codeView}&axis=${state.axis}`);
    byId("code-python").textContent = answer.python;
    byId("code-command").textContent = answer.command;
  } catch {
    // the field that is wrong says so; the last good code stays
  }
}

function buildPresets() {
  for (const preset of table.presets) {
    const button = element("button", { type: "button", title: preset.title }, preset.name);
    button.addEventListener("click", () => {
      state = { ...read(`?${new URLSearchParams(preset.query)}`, {}), axis: state.axis, seeds: state.seeds };
      address.show(state, false);
      follow();
      code();
    });
    byId("presets").append(button);
  }
}

function buildCode() {
  const names = { spectrum: "spectrum", errors: "errors", learned: "learned", sizes: "sizes" };
  for (const [view, text] of Object.entries(names)) {
    const button = element("button", { type: "button", "aria-pressed": String(view === codeView) }, text);
    button.addEventListener("click", () => {
      codeView = view;
      for (const other of byId("code-views").children)
        other.setAttribute("aria-pressed", String(other === button));
      code();
    });
    byId("code-views").append(button);
  }
  for (const button of document.querySelectorAll(".copy")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
      button.textContent = "Copied";
      setTimeout(() => (button.textContent = "Copy"), 1200);
    });
  }
}

function exportView(name, format) {
  const figure = views.painted[name];
  if (!figure) return;
  const shown = model();
  const cursor = name === "errors" ? shown.alpha : null;
  if (format === "csv") exports.numbers(name, figure, location.href);
  else exports.picture(name, figure, cursor, format);
}

async function start() {
  table = await ask("/api/controls");
  takeNames(table.controls);
  state = read(location.search, table.defaults);
  simulations = new Simulations(
    () => state,
    () => repaint(VIEWS),
    (seeds) => set("seeds", seeds, false),
  );
  theory = new Theory(arrived, complain);
  controls = new Controls(byId("controls"), table.controls, set);
  views = new Views(byId("views"), {
    exportView,
    setAxis: (axis) => set("axis", axis, false),
    setAlpha: (alpha) => set("alpha", alpha, false),
  });
  buildPresets();
  buildCode();
  address.now(state);
  byId("controls-panel").open = innerWidth >= 760;
  byId("seeds").value = state.seeds;
  follow();
  code();
  addEventListener("popstate", () => {
    state = read(location.search, table.defaults);
    address.moving = false;
    document.activeElement?.blur?.();
    follow();
    code();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint(VIEWS));
  addEventListener("resize", () => repaint(VIEWS));
  // for tests, benchmarks and screenshots
  window.onegrad = {
    latencies: clock.latencies,
    model,
    figure: (view) => views.painted[view],
    get painting() {
      return painting.size > 0;
    },
    get complaint() {
      return lastComplaint;
    },
  };
}

start().catch((error) => (byId("connection").textContent = error.message));
