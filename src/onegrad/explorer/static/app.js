// The page: state, controls, theory, views and simulations wired together.

import * as clock from "./clock.js";
import { Code } from "./code.js";
import { byId, Controls } from "./controls.js";
import * as exports from "./exports.js";
import { ask } from "./http.js";
import { opened } from "./link.js";
import { precomputed } from "./offline.js";
import { Play } from "./play.js";
import { Presets } from "./presets.js";
import { notes, readings, ticks } from "./readings.js";
import { Simulations } from "./simulations.js";
import {
  Address,
  asRatios,
  AXES,
  read,
  ridgeless,
  sizesOf,
  stepless,
  takeTable,
  withValue,
} from "./state.js";
import { Theory } from "./theory.js";
import { Tour } from "./tour.js";
import { Views, VIEWS } from "./views.js";
import { typeset } from "./words.js";

const address = new Address();
const TOUR = "Setting 2"; // the preset that the tour shows
const NETWORKS = "4"; // that it trains
let table, state, controls, theory, views, simulations, code, play, tour, presets;
let good = null; // the last state that the server answered: what the pictures show
let lastComplaint = null; // about the present state
let complained = false; // and the message above everything is about it
let painting = new Set();

/** Whether the sizes and the step of a state are numbers at all. */
const sensible = (of) => Object.values(sizesOf(of)).every((x) => x === null || Number.isFinite(x));

/** Everything the views show, in one value. */
function model() {
  const shown = good && (lastComplaint || !sensible(state)) ? good : state;
  const now = sizesOf(shown);
  const { alpha } = now;
  const spikes = [theory.far, theory.spectrum].flatMap((spectrum) => spectrum?.spikes ?? []);
  const farthest = Math.sqrt(Math.max(0, ...spikes.map((spike) => spike.eigenvalue)));
  return {
    state: shown,
    alpha,
    sizesNow: now,
    instant: theory.instant,
    spectrum: theory.spectrum,
    spectrumAt: sizesOf(Object.fromEntries(new URLSearchParams(theory.shownKey.spectrum))),
    farthest,
    curve: theory.shown.alpha,
    sizes: theory.shown.sizes,
    stairs: theory.stairs(),
    network: theory.network,
    here: theory.at(alpha),
    simulation: simulations.forState(shown),
    stale: {
      spectrum: !theory.fresh.spectrum,
      errors: !theory.fresh.instant,
      curve: !theory.current("alpha"),
      learned: !theory.at(alpha),
      network: !theory.fresh.network,
      neurons: !theory.fresh.network,
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
  if (shown.instant) ticks(shown.instant);
  views.paint(shown, names);
  views.age(shown.stale);
  readings(shown);
  notes(shown);
  tour.follow(shown);
  clock.painted("errors", `${theory.shownKey.instant} ${shown.alpha}`);
  if (names.includes("spectrum")) clock.painted("spectrum", theory.shownKey.spectrum);
}

/** The theory has something new. */
function arrived(parts) {
  settled();
  const affected = {
    instant: ["errors", "stairs"],
    spectrum: ["spectrum"],
    far: ["spectrum"],
    here: ["learned"],
    network: ["spectrum", "neurons"],
    alpha: ["errors", "learned"],
    stairs: ["stairs"],
    sizes: ["sizes"],
  };
  const names = parts.flatMap((part) => affected[part]);
  if (parts.includes("instant")) {
    if (theory.current("alpha")) names.push("learned");
    if (theory.current("sizes")) names.push("sizes");
  }
  // answers come in any order: a card that is still empty may have all it needs now
  repaint([...names, ...VIEWS.filter((name) => !views.painted[name])]);
}

/** The present state has been answered: it is good, and nothing is wrong with it. */
function settled() {
  if (lastComplaint || !(theory.fresh.instant && theory.fresh.spectrum)) return;
  good = theory.state;
  controls.complain(null);
  byId("connection").textContent = "";
  if (complained) say(null);
  complained = false;
}

/** The server complained about the present state: say so, and go back to the last good picture. */
function complain(error) {
  const silent = error instanceof TypeError; // the browser's own: the server did not answer
  const message = silent ? "The server does not answer; is it still running?" : error.message;
  byId("connection").replaceChildren(...(error.field ? [] : typeset(message)));
  if (silent || !good || lastComplaint) return;
  lastComplaint = error;
  controls.complain(error);
  controls.derive(good, sizesOf(good));
  complained = !error.field;
  if (complained) say(`${message[0].toUpperCase()}${message.slice(1)}. The pictures show the previous setting.`);
  address.now(good); // a link to this page is a link to what it shows
  theory.update(good, { offCurve: offCurve(good), moving: false });
  repaint(VIEWS);
}

/** A message above everything; none closes it. */
function say(text) {
  byId("notice").hidden = !text;
  byId("notice-text").replaceChildren(...typeset(text ?? ""));
}

/** A control was changed: `moving` while the gesture lasts. */
function set(name, value, moving) {
  go(name === "ratios" ? asRatios(state, value) : withValue(state, name, value), moving);
}

/** Take this state, in the address and on the page. */
function go(next, moving = false) {
  state = precomputed ? precomputed.nearest(next) : next;
  if (moving) {
    clock.changed("errors", `${stepless(state)} ${sizesOf(state).alpha}`);
    clock.changed("spectrum", ridgeless(state));
  }
  address.show(state, moving);
  follow(moving);
  if (!moving) code.show();
}

/** Whether the step of a state lies outside the curve, and is computed by itself. */
function offCurve(of) {
  const { alpha } = sizesOf(of);
  const [low, high] = AXES.alphas;
  return alpha === null || alpha < low || alpha > high;
}

/** Bring controls, theory and views to the state: what is known is painted, the rest greyed. */
function follow(moving = false) {
  lastComplaint = null;
  controls.show(state, sizesOf(state));
  theory.update(state, { offCurve: offCurve(state), moving });
  settled();
  presets.show(state);
  if (!theory.instant) return;
  const { instant, spectrum, network } = theory.fresh;
  const moved = paintedFor !== stepless(state);
  paintedFor = stepless(state);
  const names = [];
  if (spectrum) names.push("spectrum");
  if (network) names.push("neurons");
  if (moved && instant) names.push("errors", "stairs");
  if (views.model?.stairs.n !== Number(state.stairs)) names.push("stairs");
  if (theory.at(sizesOf(state).alpha)) names.push("learned");
  if (moved && theory.current("sizes")) names.push("sizes");
  repaint(names.length ? names : ["cursor"]);
}
let paintedFor = null; // the problem without its step

/** A preset's state, with what is not part of the problem kept. */
const presetState = (preset) => {
  const { axis, seeds, stairs } = state;
  return { ...read(preset.query, {}), axis, seeds, stairs };
};

function buildTour() {
  play = new Play(byId("play"), (alpha, moving) => set("alpha", alpha, moving));
  byId("play").addEventListener("click", () => play.toggle(sizesOf(state).alpha));
  const home = () => presetState(table.presets.find((preset) => preset.name === TOUR));
  tour = new Tour({
    visit: (alpha) => {
      play.stop();
      go(alpha === null ? withValue(home(), "eta", "0") : withValue(home(), "alpha", String(alpha)));
    },
    play: (from, to) => (play.playing ? play.stop() : play.run(from, to)),
    simulate: () => simulations.start(true, NETWORKS),
    changed: () => theory.instant && repaint(["cursor"]),
  });
}

function exportView(name, format) {
  const figure = views.painted[name];
  if (!figure) return;
  const cursor = name === "errors" ? sizesOf(state).alpha : null;
  if (format === "csv") exports.numbers(name, figure, location.href);
  else exports.picture(name, figure, cursor, format);
}

/** Take the state of a link; one that says nothing sensible opens the defaults and says so. */
async function takeLink() {
  const check = (next) => theory.check(next);
  const { state: linked, wrong } = await opened(location.search, table.defaults, check);
  if (wrong) say(`This link could not be read (${wrong}). The page shows its default setting.`);
  state = precomputed ? precomputed.nearest(linked) : linked;
}

async function start() {
  table = await ask("/api/controls");
  takeTable(table);
  theory = new Theory(arrived, complain, (part) => part !== "stairs" || !views.hidden.has(part));
  await takeLink();
  simulations = new Simulations(
    () => state,
    () => repaint(VIEWS),
    (seeds) => set("seeds", seeds, false),
  );
  controls = new Controls(byId("controls"), table.controls, set);
  views = new Views(byId("views"), {
    exportView,
    setAxis: (axis) => set("axis", axis, false),
    setAlpha: (alpha) => set("alpha", alpha, false),
    setStairs: (n, moving) => set("stairs", String(n), moving),
    another: () => {
      theory.seed = (theory.seed + 1) % 1000;
      theory.trainOne();
      repaint(["spectrum", "neurons"]);
    },
    seen: (name) => name === "stairs" && theory.compute(),
  });
  presets = new Presets(byId("presets"), table.presets, (preset) => go(presetState(preset)));
  buildTour();
  code = new Code(() => state);
  const tourStep = Number(new URLSearchParams(location.search).get("tour"));
  address.now(state);
  byId("controls-panel").open = innerWidth >= 760;
  byId("seeds").value = state.seeds;
  byId("notice-close").addEventListener("click", () => say(null));
  precomputed?.furnish(simulations);
  follow();
  code.show();
  listen();
  if (tourStep) tour.show(tourStep - 1);
  window.onegrad = seenFromOutside();
}

function listen() {
  addEventListener("popstate", async () => {
    await takeLink();
    address.moving = false;
    document.activeElement?.blur?.();
    follow();
    code.show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint(VIEWS));
  addEventListener("resize", () => repaint(VIEWS));
}

/** For tests, benchmarks and screenshots. */
const seenFromOutside = () => ({
  latencies: clock.latencies,
  model,
  figure: (view) => views.painted[view],
  get painting() {
    return painting.size > 0;
  },
  get complaint() {
    return lastComplaint;
  },
});

start().catch((error) => (byId("connection").textContent = error.message));
