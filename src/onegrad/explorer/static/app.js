// The page: state, controls, theory, views and simulations wired together.

import * as clock from "./clock.js";
import { Code } from "./code.js";
import { byId, Controls, element } from "./controls.js";
import * as exports from "./exports.js";
import { ask } from "./http.js";
import { notes, readings, ticks } from "./readings.js";
import { Simulations } from "./simulations.js";
import {
  Address,
  asRatios,
  query,
  read,
  ridgeless,
  sizesOf,
  stepless,
  takeNames,
  withValue,
} from "./state.js";
import { Theory } from "./theory.js";
import { Views, VIEWS } from "./views.js";

const address = new Address();
let table, state, controls, theory, views, simulations, code;
let lastComplaint = null;
let painting = new Set();

/** Everything the views show, in one value. */
function model() {
  const now = sizesOf(state);
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
      errors: !theory.fresh.instant,
      curve: !theory.current("alpha"),
      learned: !theory.current("alpha"),
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
  views.age(shown.stale);
  readings(shown);
  notes(shown);
  clock.painted("errors", `${theory.shownKey.instant} ${shown.alpha}`);
  if (names.includes("spectrum")) clock.painted("spectrum", theory.shownKey.spectrum);
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
    ticks(theory.instant);
    if (theory.current("alpha")) names.push("learned");
    if (theory.current("sizes") || !views.painted.sizes) names.push("sizes");
  }
  repaint(names);
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
  go(name === "ratios" ? asRatios(state, value) : withValue(state, name, value), moving);
}

/** Take this state, in the address and on the page. */
function go(next, moving = false) {
  state = next;
  if (moving) {
    clock.changed("errors", `${stepless(state)} ${sizesOf(state).alpha}`);
    clock.changed("spectrum", ridgeless(state));
  }
  address.show(state, moving);
  follow(moving);
  if (!moving) code.show();
}

/** Bring controls, theory and views to the state: what is known is painted, the rest greyed. */
function follow(moving = false) {
  controls.show(state, sizesOf(state));
  const { alpha } = sizesOf(state);
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
  table.presets.forEach((preset, i) => {
    const pressed = query(read(preset.query, {})) === query(state);
    byId("presets").children[i].setAttribute("aria-pressed", String(pressed));
  });
}

function buildPresets() {
  for (const preset of table.presets) {
    const onclick = () => go({ ...read(preset.query, {}), axis: state.axis, seeds: state.seeds });
    byId("presets").append(element("button", { type: "button", title: preset.title, onclick }, preset.name));
  }
}

function exportView(name, format) {
  const figure = views.painted[name];
  if (!figure) return;
  const cursor = name === "errors" ? sizesOf(state).alpha : null;
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
  code = new Code(() => state);
  address.now(state);
  byId("controls-panel").open = innerWidth >= 760;
  byId("seeds").value = state.seeds;
  follow();
  code.show();
  addEventListener("popstate", () => {
    state = read(location.search, table.defaults);
    address.moving = false;
    document.activeElement?.blur?.();
    follow();
    code.show();
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
