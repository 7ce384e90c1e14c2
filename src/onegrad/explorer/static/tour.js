// The guided tour: seven steps, each a range of α to play and what is seen there now; the last is
// an exercise.

import { dominant, energies, passes } from "./captions.js";
import { byId, element } from "./controls.js";
import { list, ordinal, percent, short, size } from "./words.js";

const spikes = ({ spectrum }) => spectrum.spikes.map(dominant);
const spikeOf = (model, degree) => spikes(model).find(([k]) => k === degree);
const at = ({ spectrumAt }) => `At α = ${short(spectrumAt.alpha)},`;
const test = ({ here }) => (here ? ` The test error is ${short(here.test)}.` : "");

/** The first α at which the curve of the test error passes the kernel bound. */
function crossing({ curve, instant, stale }) {
  return stale.curve || !curve?.finished ? null : passes(curve.sorted, instant.levels.kernel);
}

/** How far the networks' mean is from the theory, at worst, in percent of it. */
function agreement({ simulation, curve }) {
  const pairs = (simulation?.alpha ?? [])
    .map((p) => [p, curve?.at(p.x)])
    .filter(([, theory]) => theory);
  if (!pairs.length) return null;
  const worst = Math.max(...pairs.map(([p, theory]) => Math.abs(p.test / theory.test - 1)));
  const within = pairs.filter(([p, t]) => p.test_se !== null && Math.abs(p.test - t.test) <= 2 * p.test_se + 0.02 * t.test);
  return { worst, places: pairs.length, within: within.length, networks: pairs[0][0].networks };
}

export const STEPS = [
  {
    title: "What does one step do?",
    view: "spectrum",
    range: [-0.25, 0.4],
    say: (model) => {
      const count = spikes(model).length;
      const seen = count ? `${count === 1 ? "one of them stands" : `${count} of them stand`} outside the bulk` : "all of them lie in the bulk";
      return `Press Play: you will see singular values of the features come out of the bulk of a random first layer, one for each degree that the network learns. ${at(model)} ${seen}.${test(model)}`;
    },
  },
  {
    title: "The linear spike",
    view: "spectrum",
    range: [-0.1, 0.2],
    say: (model) => {
      const spike = spikeOf(model, 1);
      const seen = spike
        ? `${at(model)} a spike has left the bulk: ${percent(spike[1])} of it points at the linear part of the teacher.`
        : `${at(model)} the linear spike is still inside the bulk; press Play.`;
      return `From α = 0 on, the step adds a direction to the features. ${seen}${test(model)}`;
    },
  },
  {
    title: "Nothing more before ¼",
    view: "errors",
    range: [0.05, 0.24],
    say: (model) => {
      const second = spikeOf(model, 2);
      return `A larger step drives the linear spike out; as n → ∞ the error stays on one stair until α = ¼ (broken line). ${at(model)} there is ${second ? "already" : "no"} quadratic spike${second ? "" : " yet"}. At n = ${size(model.sizesNow.n)} the stair is rounded and the curve bends early.${test(model)}`;
    },
  },
  {
    title: "The quadratic spike",
    view: "spectrum",
    range: [0.26, 0.45],
    say: (model) => {
      const spike = spikeOf(model, 2);
      const seen = spike
        ? `${at(model)} it stands outside the bulk, ${percent(spike[1])} aligned with the quadratic part.`
        : `${at(model)} it is still inside the bulk, yet the error falls already; press Play.`;
      return `Beyond ¼ the square of the step's direction becomes a feature, too. ${seen}${test(model)}`;
    },
  },
  {
    title: "Below the kernel bound",
    view: "errors",
    range: [0.2, 0.45],
    say: (model) => {
      const { kernel } = model.instant.levels;
      const where = crossing(model);
      const crossed = where === null ? "" : ` The curve goes below it from α ≈ ${where.toFixed(2)} on.`;
      const side = model.here ? `${at(model)} the test error ${short(model.here.test)} is ${model.here.test < kernel ? "below" : "above"} it.` : "";
      return `With n of the order of d, no rotation-invariant kernel gets below ${short(kernel)} (the long-dashed line): it learns the linear part only.${crossed} ${side} That is feature learning.`;
    },
  },
  {
    title: "Do real networks agree?",
    view: "errors",
    range: [0.4, 0.4],
    simulate: true,
    say: (model) => {
      const match = agreement(model);
      if (model.simulating) return `Training: ${match?.networks ?? 0} of 4 networks so far. Each is a point per step size on the curves; their mean settles as more come.`;
      if (!match) return "All curves so far are theory. Press Train networks: they are trained now, for this setting, and drawn as points with bars of two standard errors.";
      const verdict = match.within >= 0.75 * match.places ? "Yes" : "Not everywhere";
      return `${verdict}. Points are the mean of ${match.networks} trained networks: at ${match.within} of ${match.places} step sizes the theory lies within 2\u00a0% plus two standard errors; the largest difference is ${percent(match.worst)}.`;
    },
  },
  {
    title: "Your turn: change the teacher",
    view: "learned",
    range: [0.4, 0.4],
    choices: true,
    say: (model) => {
      const parts = energies(model.instant.teacher, model.instant.teacher.coefficients)
        .map(({ energy }, k) => ({ k, energy }))
        .filter(({ k, energy }) => k > 0 && energy > 0.01 * model.instant.teacher.variance);
      const { degrees } = model.instant.spikes;
      const missing = parts.filter(({ k }) => !degrees.includes(k)).map(({ k }) => ordinal(k));
      const why = missing.length
        ? `${model.state.activation} has no ${list(missing)} part: no step learns that.`
        : `${model.state.activation} has them too: drag α and see from where on each is learned.`;
      const kinds = parts.length === 1 ? `a ${ordinal(parts[0].k)} part only` : `a ${list(parts.map(({ k }) => ordinal(k)))} part`;
      return `Choose a teacher, or type one. Which bars will fill? This one has ${kinds}; ${why}`;
    },
  },
];

export class Tour {
  /** `visit(step, alpha)` goes to a step (1, 2, …; null: leave) at this exponent, `play(from, to)`
   *  moves it, `simulate()` trains networks; `choices`: what the exercise offers. */
  constructor({ visit, play, simulate, choices }) {
    this.actions = { visit, play, simulate };
    this.step = null;
    const button = (id, text, onclick, more = {}) => element("button", { type: "button", id, onclick, ...more }, text);
    this.title = element("h2", { id: "tour-title" });
    this.text = element("p", { id: "tour-text", "aria-live": "polite" });
    this.back = button("tour-back", "Back", () => this.visit(this.step - 1));
    this.next = button("tour-next", "Next", () => this.visit(this.step + 1));
    this.run = button("tour-play", "Play", () => this.play(), { className: "primary" });
    this.run.dataset.play = "";
    const close = button("tour-close", "Close", () => this.visit(null));
    const chips = choices.map(({ name, choose }) => element("button", { type: "button", onclick: choose }, name));
    this.choices = element("div", { className: "tour-choices" }, ...chips);
    byId("tour").append(
      element("div", {}, this.title, this.text, this.choices),
      element("div", { className: "tour-buttons" }, this.back, this.run, this.next, close),
    );
    byId("tour-start").addEventListener("click", () => this.visit(this.step === null ? 1 : null));
  }

  visit(step) {
    this.actions.visit(step, step === null ? null : STEPS[step - 1].range[1]);
  }

  /** Show the step that the state names; undefined: none. */
  show(named) {
    const step = STEPS[Number(named) - 1] ? Number(named) : null;
    if (step === this.step) return;
    this.step = step;
    byId("tour").hidden = step === null;
    document.body.classList.toggle("touring", step !== null);
    byId("tour-start").setAttribute("aria-pressed", String(step !== null));
    for (const node of document.querySelectorAll(".pointed")) node.classList.remove("pointed");
    if (step === null) return;
    const { title, view, range, simulate, choices } = STEPS[step - 1];
    this.title.textContent = `${step} of ${STEPS.length}: ${title}`;
    this.back.disabled = step === 1;
    this.next.disabled = step === STEPS.length;
    this.run.hidden = !simulate && range[0] === range[1];
    this.run.textContent = simulate ? "Train networks" : "▶ Play α";
    this.choices.hidden = !choices;
    byId(`view-${view}`).classList.add("pointed");
    if (choices) byId("row-teacher").classList.add("pointed");
    requestAnimationFrame(() => this.scroll(byId(`view-${view}`)));
  }

  /** Bring the card that the step speaks of between the bar of the step and the tour's own words. */
  scroll(card) {
    const bar = byId("step").getBoundingClientRect().height;
    const calm = matchMedia("(prefers-reduced-motion: reduce)").matches;
    const top = card.getBoundingClientRect().top + scrollY - bar - 12;
    scrollTo({ top, behavior: calm ? "instant" : "smooth" });
  }

  play() {
    const { range, simulate } = STEPS[this.step - 1];
    if (simulate) this.actions.simulate();
    else this.actions.play(...range);
  }

  /** The sentence of this step, for what is shown now; it fades while that is of a moment ago. */
  follow(model) {
    if (this.step === null || !model.instant || !model.spectrum) return;
    const old = model.stale.errors || model.stale.spectrum;
    this.text.classList.toggle("old", old);
    if (old) return;
    const { say, simulate } = STEPS[this.step - 1];
    if (simulate) this.run.hidden = model.simulating || agreement(model) !== null;
    const text = say(model);
    if (this.text.textContent !== text) this.text.textContent = text;
  }
}
