// The guided tour: six steps in one setting, each a range of α to play and what is seen there now.

import { dominant, passes } from "./captions.js";
import { byId, element } from "./controls.js";
import { percent, short, size } from "./words.js";

const spikes = ({ spectrum }) => spectrum.spikes.map(dominant);
const spikeOf = (model, degree) => spikes(model).find(([k]) => k === degree);
const at = ({ spectrumAt }) => `At α = ${short(spectrumAt.alpha)}`;
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
    title: "An untrained network",
    view: "spectrum",
    range: [null, null], // no step at all
    say: (model) =>
      `The first layer is random. The singular values of its features fill one bulk, ${spikes(model).length ? "with a spike already" : "and no spike stands outside"}; with n of the order of d, ridge on top learns the linear part of the teacher at best.${test(model)}`,
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
    title: "Real networks agree",
    view: "errors",
    range: [0.4, 0.4],
    simulate: true,
    say: (model) => {
      const match = agreement(model);
      if (!match) return "All curves so far are theory. Press Train networks: they are trained now, for this setting, and drawn as points with bars of two standard errors.";
      return `Points are the mean of ${match.networks} trained ${match.networks === 1 ? "network" : "networks"}. Of ${match.places} steps, ${match.within} lie within two standard errors and 2 % of the theory; the largest difference is ${percent(match.worst)}.`;
    },
  },
];

export class Tour {
  /** `visit(alpha)` shows the tour's setting at a step, `play(from, to)` moves it, `simulate()`
   *  trains networks, `changed(step)` is told where the tour is. */
  constructor({ visit, play, simulate, changed }) {
    this.actions = { visit, play, simulate, changed };
    this.step = null;
    const button = (id, text, onclick, more = {}) => element("button", { type: "button", id, onclick, ...more }, text);
    this.title = element("h2", { id: "tour-title" });
    this.text = element("p", { id: "tour-text", "aria-live": "polite" });
    this.back = button("tour-back", "Back", () => this.show(this.step - 1));
    this.next = button("tour-next", "Next", () => this.show(this.step + 1));
    this.run = button("tour-play", "Play", () => this.play(), { className: "primary" });
    this.run.dataset.play = "";
    const close = button("tour-close", "Close", () => this.show(null));
    byId("tour").append(
      element("div", {}, this.title, this.text),
      element("div", { className: "tour-buttons" }, this.back, this.run, this.next, close),
    );
    byId("tour-start").addEventListener("click", () => this.show(this.step === null ? 0 : null));
  }

  /** Go to a step, or leave. */
  show(step, quietly = false) {
    this.step = step !== null && STEPS[step] ? step : null;
    byId("tour").hidden = this.step === null;
    byId("tour-start").setAttribute("aria-pressed", String(this.step !== null));
    for (const node of document.querySelectorAll(".view.pointed")) node.classList.remove("pointed");
    if (this.step !== null) {
      const { title, view, range, simulate } = STEPS[this.step];
      this.title.textContent = `${this.step + 1} of ${STEPS.length}: ${title}`;
      this.back.disabled = this.step === 0;
      this.next.disabled = this.step === STEPS.length - 1;
      this.run.hidden = !simulate && range[0] === range[1];
      this.run.textContent = simulate ? "Train networks" : "▶ Play α";
      byId(`view-${view}`).classList.add("pointed");
      if (!quietly) this.actions.visit(range[1]);
    }
    this.actions.changed(this.step);
  }

  play() {
    const { range, simulate } = STEPS[this.step];
    if (simulate) this.actions.simulate();
    else this.actions.play(...range);
  }

  /** The sentence of this step, for what is shown now. */
  follow(model) {
    if (this.step === null || !model.instant || !model.spectrum || model.stale.errors || model.stale.spectrum) return;
    const { say, simulate } = STEPS[this.step];
    if (simulate) this.run.hidden = agreement(model) !== null;
    const text = say(model);
    if (this.text.textContent !== text) this.text.textContent = text;
  }
}
