// What is learned of the teacher: as a function of its index, and degree by degree.

import { energies } from "./captions.js";
import { bars, frame } from "./drawing.js";

export function learned(model, colors, narrow) {
  if (!model.here?.learned) return null;
  const { u, target: truth, coefficients: target, variance } = model.instant.teacher;
  const coefficients = model.here.learned;
  const parts = energies(model.instant.teacher, coefficients);
  const energy = (k) => parts[k].energy;
  const last = Math.max(
    4,
    ...target.map((_, k) => (k <= 8 && energy(k) > 0.005 * variance ? k : 0)),
  );
  const degrees = target.map((_, k) => k).filter((k) => k > 0 && k <= last);
  const label = (k) =>
    energy(k) > 0.005 * variance ? String(Math.round((100 * Math.max(0, parts[k].explained)) / energy(k))) : "";
  const bar = { type: "bar", xaxis: "x2", yaxis: "y2", x: degrees.map(String), showlegend: false };
  const data = [
    {
      x: u,
      y: truth,
      name: "target σ⋆(u)",
      series: "target",
      line: { color: colors.ink, width: 2, dash: "dash" },
    },
    {
      x: u,
      y: u.map((x) => hermiteSum(coefficients, x)),
      name: "fitted, mean given u",
      series: "fitted",
      line: { color: colors.test, width: 3.2 },
    },
    {
      ...bar,
      y: degrees.map(energy),
      series: "energy in the target",
      marker: { color: "none", line: { color: colors.ink, width: 1.4 } },
    },
    {
      ...bar,
      y: degrees.map((k) => Math.max(0, parts[k].explained)),
      marker: { color: degrees.map((k) => colors.degrees[k] ?? colors.muted) },
      series: "energy learned",
      text: degrees.map(label),
      labels: degrees.map(energy),
    },
    ...simulatedLearned(model.simulation?.learned, degrees, model.instant.teacher, colors),
  ];
  const most = Math.max(...degrees.map(energy), 1e-9);
  const reach = 1.15 * Math.max(...truth.map(Math.abs));
  const [left, right] = narrow
    ? [
        { x: [0, 1], y: [0.55, 1] },
        { x: [0, 1], y: [0, 0.36] },
      ]
    : [
        { x: [0, 0.54], y: [0, 1] },
        { x: [0.7, 1], y: [0, 1] },
      ];
  return {
    data,
    layout: frame(colors, {
      xaxis: { domain: left.x, title: "index u = β<sub>⋆</sub>·x", range: [-3, 3] },
      yaxis: { domain: left.y, range: [Math.min(-0.1 * reach, 1.15 * Math.min(...truth)), reach] },
      xaxis2: { domain: right.x, title: "degree, % learned", type: "category", categories: degrees.map(String), grid: false },
      yaxis2: { domain: right.y, title: "energy", range: [0, 1.18 * most], grid: false },
    }),
  };
}

/** sum_k c_k h_k(x), normalised Hermite polynomials. */
function hermiteSum(c, x) {
  let [before, now, sum] = [0, 1, c[0]];
  for (let k = 1; k < c.length; k += 1) {
    [before, now] = [now, (x * now - Math.sqrt(k - 1) * before) / Math.sqrt(k)];
    sum += c[k] * now;
  }
  return sum;
}

function simulatedLearned(measured, degrees, teacher, colors) {
  if (!measured) return [];
  const target = teacher.coefficients;
  const parts = energies(teacher, measured.coefficients);
  const marker = { color: colors.card, size: 7, line: { color: colors.ink, width: 1.6 } };
  const slope = (k) => Math.abs(2 * (target[k] - measured.coefficients[k])); // of what is explained, in the coefficient
  const error = (k) => {
    const se = measured.coefficients_se[k];
    return se === null ? null : slope(k) * se;
  };
  return [
    {
      x: measured.u,
      y: measured.fitted,
      error_y: bars(measured.fitted_se, colors),
      mode: "markers",
      marker,
      name: "simulated",
      series: "fitted, simulated",
    },
    {
      x: degrees.map(String),
      y: degrees.map((k) => parts[k].explained),
      error_y: bars(degrees.map(error), colors),
      xaxis: "x2",
      yaxis: "y2",
      mode: "markers",
      marker,
      showlegend: false,
      series: "energy learned, simulated",
    },
  ];
}
