// Every sentence of the page that has a number in it, as a function of what is shown.
// tests/explorer/test_every_sentence_follows_the_numbers.py reads their numbers back.

import { list, ordinal, percent, reading, short, size, threshold } from "./words.js";

/** The degree that a spike points at and its squared alignment; degree 0: at none. */
export function dominant(spike) {
  const pairs = Object.entries(spike.alignment).map(([k, v]) => [Number(k), v]);
  const [degree, aligned] = pairs.sort((p, q) => q[1] - p[1])[0] ?? [0, 0];
  return aligned < 0.01 ? [0, 0] : [degree, aligned];
}

/** Spikes outside the bulk at this size, and in the limit; `unless`: why the limit is not known. */
export function spikeCounts({ spectrum, spectrumAt: { alpha, eta, n }, instant }) {
  const here = spectrum.spikes.map((spike) => dominant(spike)[0]).filter((degree) => degree > 0);
  const { degrees, unless } = instant.spikes;
  if (eta === 0) return { here, limit: [], n, alpha };
  if (unless) return { here, limit: null, unless, n, alpha };
  if (alpha === null || alpha >= 0.5 - 1e-9)
    return { here, limit: null, unless: "α < ½ is assumed", n, alpha };
  const limit = degrees.filter((k) => instant.thresholds[k - 1] < alpha - 1e-9);
  return { here, limit, more: alpha > instant.thresholds.at(-1), n, alpha };
}

function spectrumCaption(model) {
  const { spectrum } = model;
  const counts = spikeCounts(model);
  const words = spectrum.spikes.map((spike) => {
    const [degree, aligned] = dominant(spike);
    return degree ? `${percent(aligned)} ${ordinal(degree)}` : "one of the untrained features";
  });
  const count = words.length;
  const stands = count === 1 ? "One spike stands" : `${count} spikes stand`;
  const first = count ? `${stands} outside the bulk: ${words.join(", ")}.` : "No spike stands outside the bulk.";
  return `${first} ${againstTheLimit(counts)}`;
}

/** Why the count at this size is, or is not, that of the limit. */
function againstTheLimit({ here, limit, unless, more, n, alpha }) {
  if (limit === null) return `The limit theory gives no count here: ${unless}.`;
  const count = `${limit.length}${more ? " or more" : ""}`;
  if (!limit.length && !here.length) return "As n → ∞ there is none either.";
  if (limit.length === here.length && !more) return "As n → ∞ there are as many.";
  if (limit.length < here.length)
    return `As n → ∞ there ${limit.length === 1 ? "is 1" : `are ${limit.length || "none"}`}: thresholds are sharp only in the limit, and at n = ${size(n)} a spike can come early.`;
  const missing = limit.find((k) => !here.includes(k)) ?? limit.at(-1);
  const power = missing * alpha - (missing - 1) / 2;
  const verb = limit.length === 1 ? "is" : "are";
  return `As n → ∞ there ${verb} ${count}: the ${ordinal(missing)} spike grows only like n^${power.toFixed(2)} and is still inside the bulk at n = ${size(n)}.`;
}

function errorsCaption({ curve, instant, here, stale }) {
  if (!here) return waiting(curve, stale.curve);
  const { kernel } = instant.levels;
  const drop = 1 - here.test / instant.untrained.test;
  const change =
    Math.abs(drop) < 0.005
      ? "within 0.5\u00a0% of the untrained network"
      : `${percent(Math.abs(drop))} ${drop >= 0 ? "below" : "above"} the untrained network`;
  const side = here.test < kernel ? "below" : "above";
  const kernels = `${side} the kernel bound ${short(kernel)}, the lowest that any rotation-invariant kernel can reach when n grows like d`;
  return `At this step the test error is ${reading(here.test)}, ${change} and ${kernels}. ${bestStep(best(curve, stale.curve))}`;
}

function bestStep(found) {
  if (!found) return "";
  if (found.end) return `It is smallest at the end of the axis, α = ${short(found.x)}.`;
  return `The best step is α = ${found.x.toFixed(2).replace("-", "−")} (★), with ${reading(found.test)}.`;
}

/** The least test error on a finished curve, between its points; `end`: at an end of the axis. */
export function best(curve, stale) {
  if (stale || !curve?.finished || curve.length < 5) return null;
  const points = curve.sorted;
  const least = points.reduce((p, q) => (q.test < p.test ? q : p));
  const i = points.indexOf(least);
  if (i === 0 || i === points.length - 1) return { x: least.x, test: least.test, end: true };
  const steps = Array.from({ length: 81 }, (_, k) => points[i - 1].x + (k / 80) * (points[i + 1].x - points[i - 1].x));
  return steps.map((x) => ({ x, test: curve.at(x).test })).reduce((p, q) => (q.test < p.test ? q : p));
}

/** What is said while there is no number, or where there will be none; null: the last words stay. */
export function waiting(curve, stale) {
  if (stale || !curve?.finished) return null;
  return `No number here: ${curve.complaint ?? "the step lies outside the curve"}.`;
}

/** Of each degree: the energy in the target, and by how much the fit lowers the error there. */
export function energies({ coefficients: target }, learned) {
  return target.map((t, k) => ({ energy: t ** 2, explained: learned[k] * (2 * t - learned[k]) }));
}

function learnedCaption({ instant: { teacher }, here, curve, stale }) {
  if (!here?.learned) return waiting(curve, stale.curve);
  const parts = energies(teacher, here.learned)
    .map(({ energy, explained }, k) => ({ k, energy, share: Math.max(0, explained) / energy }))
    .filter(({ k, energy }) => k > 0 && energy > 0.01 * teacher.variance)
    .map(({ k, share }) => `${percent(share)} of the ${ordinal(k)} part`);
  return parts.length ? `Learned so far: ${list(parts)}.` : "The teacher has no part of degree one or more.";
}

function sizesCaption({ sizes: curve, state, sizesNow, stale }) {
  if (!curve?.length) return waiting(curve, stale.sizes);
  const best = curve.sorted.reduce((p, q) => (q.test < p.test ? q : p));
  const [other, step] = state.axis === "n" ? ["N", "α"] : ["n", "η"];
  const fixed = `At ${other}/d = ${short(sizesNow[other] / sizesNow.d)}, ${step} kept`;
  const { axis } = state;
  if (best === curve.sorted.at(-1))
    return `${fixed}: the test error is smallest at the end of the axis, ${axis}/d = ${short(best.x)}.`;
  return `${fixed}: the test error is smallest near ${axis}/d = ${short(best.x)}.`;
}

/** The stair of the staircase that is deepest: its threshold and the test errors around it. */
function deepestStair({ alpha, test }) {
  let best = null;
  for (let i = 1; i + 1 < alpha.length; i += 2) {
    const drop = test[i] - test[i + 1];
    if (drop > (best?.drop ?? 1e-3 * test[0])) best = { at: alpha[i], from: test[i], to: test[i + 1], drop };
  }
  return best;
}

/** Where a falling curve first passes a level. */
export function passes(points, level) {
  const after = points.findIndex((p) => p.test <= level);
  if (after < 1) return null;
  const [p, q] = [points[after - 1], points[after]];
  return p.x + ((p.test - level) / (p.test - q.test)) * (q.x - p.x);
}

/** The deepest stair on a curve: where half of it is passed, and how wide its middle half is. */
function stairWidth(staircase, curve) {
  const stair = deepestStair(staircase);
  if (!stair || !curve?.length) return null;
  const [quarter, half, three] = [0.25, 0.5, 0.75].map((t) => passes(curve.sorted, stair.from - t * stair.drop));
  return { ...stair, half, width: quarter === null || three === null ? null : three - quarter };
}

function stairsCaption({ instant, stairs }) {
  if (!instant.staircase.alpha.length) return "The staircase theory does not cover this setting.";
  if (!deepestStair(instant.staircase)) return "The staircase of this setting has no stair to speak of.";
  if (!stairs.curve?.length) return stairs.curve?.finished ? "There is no curve for this setting." : null;
  const stair = stairWidth(instant.staircase, stairs.curve);
  const where = `At n = ${size(stairs.n)}, φ and ψ kept`;
  if (stair.width === null) return `${where}, the deepest stair (α = ${threshold(stair.at)}) is not passed on this axis.`;
  return `${where}, the middle half of the deepest stair is ${stair.width.toFixed(3)} wide in α; as n → ∞ it is a jump at ${threshold(stair.at)}. A spike's strength is a power of n, so the width shrinks only like 1/log n.`;
}

function neuronsCaption({ network, sizesNow }) {
  if (!network) return null;
  if (network.refused) return `Not shown: ${network.refused}.`;
  const { correlation, overlap, overlap_before: before } = network;
  const first = `Root mean square overlap with the teacher: ${short(before)} before the step (chance: 1/√d = ${short(1 / Math.sqrt(sizesNow.d))}), ${short(overlap)} after.`;
  if (correlation === null) return `${first} Every readout is the same.`;
  return `${first} After the step it correlates ${percent(correlation)} with the readout.`;
}

/** What is said above each view; null where the answers are not there or do not belong together yet. */
export const CAPTIONS = {
  spectrum: spectrumCaption,
  errors: (model) => (model.stale.errors ? null : errorsCaption(model)),
  learned: (model) => (model.stale.errors ? null : learnedCaption(model)),
  neurons: (model) => (model.stale.network ? null : neuronsCaption(model)),
  stairs: (model) => (model.stale.errors ? null : stairsCaption(model)),
  sizes: (model) => (model.stale.sizes ? null : sizesCaption(model)),
};
