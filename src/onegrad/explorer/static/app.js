// The page: state, controls, theory, views and simulations wired together.

import * as clock from "./clock.js";
import { Code } from "./code.js";
import { byId, Controls } from "./controls.js";
import * as exports from "./exports.js";
import { ask } from "./http.js";
import { precomputed } from "./offline.js";
import { Play } from "./play.js";
import { Presets } from "./presets.js";
import { notes, readings, ticks } from "./readings.js";
import { Simulations } from "./simulations.js";
import {
  Address,
  AXES,
  asRatios,
  query,
  read,
  ridgeless,
  sizesOf,
  stepless,
  strange,
  takeTable,
  withValue,
} from "./state.js";
import { Theory } from "./theory.js";
import { Tour } from "./tour.js";
import { Views, VIEWS } from "./views.js";
import { typeset } from "./words.js";

const address = new Address();
const TOUR = "Two spikes, two stairs"; // the preset that the tour shows
const NETWORKS = "4"; // that it trains
const REST = 0.4; // where the step of a frame comes to rest
const EMBEDDED = new URLSearchParams(location.search).has("embed"); // in a frame of another page
// the cards that show what the server takes longest for
const SHOWN_BY = {
  alpha: ["errors"],
  sizes: ["sizes"],
  stairs: ["stairs"],
  far: ["spectrum"],
  network: ["spectrum", "neurons"],
};
let table, state, controls, theory, views, simulations, code, play, tour, presets;
let good = null; // the last state that the server answered: what the pictures show
let lastComplaint = null; // about the present state
let complained = false; // and the message above everything is about it
let lastHere = null; // the last errors that were known: shown, fading, until the next ones come
let painting = new Set();

/** Whether the sizes and the step of a state are numbers at all. */
const sensible = (of) => Object.values(sizesOf(of)).every((x) => x === null || Number.isFinite(x));

/** Everything the views show, in one value. */
function model() {
  const shown = good && (lastComplaint || !sensible(state)) ? good : state;
  const now = sizesOf(shown);
  const here = theory.at();
  const noNumber = theory.current("alpha") && theory.shown.alpha.finished && !theory.asked.here;
  lastHere = here ?? theory.here ?? (noNumber ? null : lastHere);
  const spikes = [theory.far, theory.spectrum].flatMap((spectrum) => spectrum?.spikes ?? []);
  const farthest = Math.sqrt(Math.max(0, ...spikes.map((spike) => spike.eigenvalue)));
  return {
    state: shown,
    alpha: now.alpha,
    sizesNow: now,
    instant: theory.instant,
    spectrum: theory.spectrum,
    spectrumAt: sizesOf(Object.fromEntries(new URLSearchParams(theory.shownKey.spectrum))),
    farthest,
    curve: theory.shown.alpha,
    sizes: theory.shown.sizes,
    stairs: theory.stairs(),
    network: theory.networkShown(),
    here,
    latest: lastHere,
    simulation: simulations.forState(shown),
    simulating: simulations.running !== null,
    stale: {
      spectrum: !theory.fresh.spectrum,
      errors: !theory.fresh.instant,
      curve: !theory.current("alpha"),
      learned: !here,
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
  if (shown.instant && !shown.stale.errors) controls.formulas(shown.instant.formulas);
  views.paint(shown, names);
  views.age(shown.stale);
  readings(shown);
  notes(shown);
  tour.follow(shown);
  if (shown.here) clock.painted("number", query(shown.state));
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
  document.body.classList.remove("refused");
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
  document.body.classList.add("refused"); // numbers and pictures are those of a setting before
  controls.derive(good, sizesOf(good));
  complained = !error.field;
  if (complained) say(`${message[0].toUpperCase()}${message.slice(1)}. The pictures show the previous setting.`);
  address.now(good); // a link to this page is a link to what it shows
  theory.update(good, false);
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
    clock.changed("number", query(state));
    clock.changed("spectrum", ridgeless(state));
  }
  address.show(state, moving);
  follow(moving);
  if (!moving) code.show();
}

/** Bring controls, theory and views to the state: what is known is painted, the rest greyed. */
function follow(moving = false) {
  lastComplaint = null;
  controls.show(state, sizesOf(state));
  theory.update(state, moving);
  settled();
  presets.show(state);
  tour.show(state.tour);
  if (!theory.instant) return;
  const { instant, spectrum, network } = theory.fresh;
  const moved = paintedFor !== stepless(state);
  paintedFor = stepless(state);
  const names = [];
  if (spectrum) names.push("spectrum");
  if (network) names.push("neurons");
  if (moved && instant) names.push("errors", "stairs");
  if (views.model?.stairs.n !== Number(state.stairs)) names.push("stairs");
  if (theory.at()) names.push("learned");
  if (moved && theory.current("sizes")) names.push("sizes");
  repaint(names.length ? names : ["cursor"]);
}
let paintedFor = null; // the problem without its step

/** A preset's state, with what is not part of the problem kept. */
const presetState = (preset) => {
  const { axis, seeds, stairs, tour: step } = state;
  const kept = step ? { tour: step } : {};
  return { ...read(preset.query, {}), axis, seeds, stairs, ...kept };
};

function buildTour() {
  play = new Play(byId("play"), (alpha, moving) => set("alpha", alpha, moving));
  byId("play").addEventListener("click", () => play.toggle(sizesOf(state).alpha));
  const home = table.presets.find((preset) => preset.name === TOUR) ?? table.presets[0];
  const teachers = [home.query.teacher, "H1 + H3/2", "x^3 - 3*x", "tanh(2*x)"];
  const choices = precomputed
    ? table.presets.map((preset) => ({ name: preset.name, choose: () => go(presetState(preset)) }))
    : teachers.map((teacher) => ({ name: teacher, choose: () => set("teacher", teacher, false) }));
  tour = new Tour({
    visit: (step, alpha) => {
      play.stop();
      const { tour: _, ...rest } = state;
      if (step === null) return go(rest);
      const there = { ...presetState(home), tour: String(step) };
      return go(withValue(there, "alpha", String(alpha)));
    },
    play: (from, to) => (play.playing ? play.stop() : play.run(from, to)),
    simulate: () => simulations.start(true, NETWORKS),
    choices,
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
  let linked = read(location.search, table.defaults);
  let wrong = strange(location.search);
  try {
    if (wrong === null && location.search.length > 1) await theory.check(linked);
  } catch (error) {
    if (error instanceof TypeError) throw error; // the server did not answer
    wrong = error.message;
  }
  if (wrong) {
    say(`This link could not be read (${wrong}). The page shows its default setting.`);
    linked = read("", table.defaults);
  }
  state = precomputed ? precomputed.nearest(linked) : linked;
}

async function start() {
  document.body.classList.toggle("embed", EMBEDDED);
  table = await ask("/api/controls");
  takeTable(table);
  const needed = (part) => SHOWN_BY[part].some((view) => views.visible.has(view));
  theory = new Theory(arrived, complain, needed);
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
    seen: () => theory.state && !theory.timer && theory.compute(),
  });
  presets = new Presets(byId("presets"), table.presets, (preset) => go(presetState(preset)));
  buildTour();
  code = new Code(() => state);
  // a link that names a step of the tour and nothing else opens the setting of that step
  const onlyTour = state.tour && [...new URLSearchParams(location.search).keys()].length === 1;
  address.now(state);
  byId("controls-panel").open = innerWidth >= 760;
  byId("seeds").value = state.seeds;
  byId("notice-close").addEventListener("click", () => say(null));
  precomputed?.furnish(simulations);
  follow();
  code.show();
  listen();
  if (onlyTour) tour.visit(Number(state.tour));
  if (EMBEDDED) embed();
  window.onegrad = seenFromOutside();
}

function listen() {
  addEventListener("popstate", async () => {
    await takeLink();
    address.moving = false;
    follow();
    code.show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => repaint(VIEWS));
  addEventListener("resize", () => repaint(VIEWS));
}

/** In a frame: two pictures and the step, which plays once when it is seen, from its start. */
function embed() {
  byId("whole-page").href = location.pathname;
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const observer = new IntersectionObserver(
    ([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      observer.disconnect();
      theory.compute().then(() => play.run(AXES.alphas[0], REST)); // the curves come first
    },
    { threshold: 0.6 },
  );
  observer.observe(byId("view-errors"));
}

/** For tests, benchmarks and screenshots. */
const seenFromOutside = () => ({
  latencies: clock.latencies,
  model,
  figure: (view) => views.painted[view],
  inSight: (view) => views.visible.has(view),
  get painting() {
    return painting.size > 0;
  },
  get idle() {
    return theory.idle && painting.size === 0;
  },
  get complaint() {
    return lastComplaint;
  },
});

start().catch((error) => (byId("connection").textContent = error.message));
