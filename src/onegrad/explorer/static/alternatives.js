// Charts in words, made from their numbers: what a reader who does not see them is told.

import { dominant } from "./captions.js";
import { list, ordinal, reading, short, size, threshold } from "./words.js";

const COUNT = 5; // points of a curve that are read out

/** Some points of a curve, evenly spread: "1.27 at −0.25, …". */
function spread(points, name) {
  const step = Math.max(1, (points.length - 1) / (COUNT - 1));
  const chosen = [...new Set(Array.from({ length: COUNT }, (_, i) => Math.round(i * step)))].filter((i) => i < points.length);
  return chosen.map((i) => `${reading(points[i][name])} at ${short(points[i].x)}`).join(", ");
}

const curves = (curve, axis) =>
  curve?.length ? `Along ${axis}, test error ${spread(curve.sorted, "test")}; training error ${spread(curve.sorted, "train")}.` : "";

const WORDS = {
  spectrum: ({ spectrum, network }) => {
    const spikes = spectrum.spikes.map((s) => `${ordinal(dominant(s)[0])} at ${short(Math.sqrt(s.eigenvalue))}`);
    const real = network?.eigenvalues ? ` One real network has ${network.eigenvalues.slice(0, 3).map((x) => short(Math.sqrt(x))).join(", ")} as its largest.` : "";
    return `Density of the singular values over root n; its edge is ${short(Math.sqrt(spectrum.edge))}. Spikes: ${spikes.length ? list(spikes) : "none"}.${real}`;
  },
  errors: ({ curve, instant, simulation }) => {
    const trained = simulation?.alpha?.length ? ` Simulated at ${simulation.alpha.length} steps.` : "";
    return `${curves(curve, "the step exponent α")} Kernel bound ${short(instant.levels.kernel)}.${trained}`;
  },
  learned: ({ here, instant: { teacher } }) => {
    if (!here?.learned) return "";
    const parts = teacher.coefficients
      .map((target, k) => ({ target, learned: here.learned[k], k }))
      .filter(({ target, k }) => k > 0 && target ** 2 > 0.005 * teacher.variance);
    const words = parts.map(({ target, learned, k }) => `degree ${k}: ${short(learned)} of ${short(target)}`);
    return `Hermite coefficients of the fit and of the target: ${words.join("; ")}.`;
  },
  neurons: ({ network }) =>
    network?.neurons
      ? `${network.neurons.after.length} neurons; overlaps with the teacher after the step from ${short(Math.min(...network.neurons.after))} to ${short(Math.max(...network.neurons.after))}.`
      : "",
  stairs: ({ stairs, instant }) =>
    `${stairs.curve?.length ? `Test error at n = ${size(stairs.n)}: ${spread(stairs.curve.sorted, "test")}.` : ""} Thresholds at ${instant.thresholds.slice(0, 5).map(threshold).join(", ")}.`,
  sizes: ({ sizes, state }) => curves(sizes, `${state.axis}/d`),
};

/** The text alternative of a view. */
export const alternative = (name, model) => WORDS[name](model).trim();
