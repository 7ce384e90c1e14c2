// Training and test errors: against the step, and against a size.

import { bands } from "./bands.js";
import { best } from "./captions.js";
import { bars, frame } from "./drawing.js";
import { AXES, THEORIES } from "./state.js";
import { ordinal, reading, short, threshold } from "./words.js";

export function errors(model, colors) {
  const { instant, curve, simulation } = model;
  const data = [
    ...bands(curve, model.stale.curve, colors),
    ...errorLines(curve, model.stale.curve, colors),
    ...THEORIES.flatMap((theory) => limitLines(theory, instant[theory.key], colors)),
    ...levelLines(instant, AXES.alphas, colors),
    ...markers(simulation?.alpha, colors),
    ...optimum(best(curve, model.stale.curve), colors),
  ];
  return {
    data,
    layout: frame(colors, {
      xaxis: { title: "step exponent α (η = n<sup>α</sup>)", range: AXES.alphas },
      yaxis: { title: "error", range: [0, round(ceiling(model))] },
      margin: { l: 52, r: 14, t: 22, b: 42 },
      ...thresholdMarks(instant, colors),
    }),
  };
}

/** The step with the least test error, where it lies inside the axis. */
function optimum(found, colors) {
  if (!found || found.end) return [];
  const about = `the step with the smallest test error, ${reading(found.test)} at α = ${short(found.x)}`;
  const marker = { color: colors.test, size: 19, symbol: "star", line: { color: colors.card, width: 1.2 } };
  return [{ x: [found.x], y: [found.test], mode: "markers", name: "best step", series: "best step", about, tip: about, marker }];
}

/** Where spikes start, as lines that are named above the plot; broken where the activation has none. */
export function thresholdMarks({ thresholds, spikes }, colors) {
  const shown = thresholds.slice(0, 5);
  const exists = (i) => spikes.degrees.includes(i + 1);
  const name = (x, i) => (i < 2 ? `${ordinal(i + 1)} ${threshold(x)}` : threshold(x));
  return {
    verticals: shown.map((x, i) => ({ x, color: colors.axis, dash: exists(i) ? "solid" : "dot" })),
    labels: shown.map((x, i) => ({ x, text: name(x, i), color: colors.muted, anchor: i < 2 ? "end" : "middle" })),
  };
}

function errorLines(curve, stale, colors) {
  const points = curve?.sorted ?? [];
  return ["test", "train"].map((name) => ({
    x: points.map((p) => p.x),
    y: points.map((p) => p[name]),
    mode: points.length < 3 ? "markers" : "lines",
    name,
    series: `${name}, uniform theory`,
    line: { color: colors[name], width: 3 },
    marker: { color: colors[name], size: 6 },
    opacity: stale ? 0.3 : 1,
  }));
}

/** Test and training error of a theory of the limit n → ∞. */
export function limitLines({ label, about, dash }, curve, colors) {
  return ["test", "train"].map((which, i) => ({
    x: curve.alpha,
    y: curve[which],
    name: label,
    series: `${which}, ${label}`,
    about,
    showlegend: i === 0 && curve.alpha.length > 0,
    line: { color: colors[which], width: 1.4, dash },
    opacity: 0.75,
    tip: `${which}, ${label}: ${about}`,
  }));
}

/** The reference levels: the bound, and the label noise where it is a line of its own. */
function levelLines({ levels: { kernel, noise } }, ends, colors) {
  const line = (y, name, about, color, dash) => ({
    x: ends,
    y: [y, y],
    name,
    about,
    tip: `${name}, ${about}`,
    line: { color, width: 1.5, dash },
  });
  const best = `${short(kernel)}: the lowest that any rotation-invariant kernel can reach when n grows like d; the best linear predictor`;
  const bound = line(kernel, "kernel bound", best, colors.degrees[3], "longdash");
  if (!(noise > 0 && noise < 0.9 * kernel)) return [bound];
  return [bound, line(noise, "label noise", `${short(noise)}: the error of the teacher itself`, colors.muted, "dot")];
}

/** The next round number: an axis that stays while a slider moves. */
export function round(value) {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10].find((step) => step * unit >= value * 0.999);
}

function markers(points, colors) {
  if (!points?.length) return [];
  return ["test", "train"].map((name, i) => ({
    x: points.map((p) => p.x),
    y: points.map((p) => p[name]),
    error_y: bars(
      points.map((p) => p[`${name}_se`]),
      colors,
    ),
    mode: "markers",
    name: "simulated",
    series: `${name}, simulated`,
    showlegend: i === 0,
    marker: {
      color: colors[name],
      size: 8,
      symbol: i ? "square" : "circle",
      line: { color: colors.ink, width: 1.2 },
    },
  }));
}

function ceiling(model) {
  const { instant, curve, simulation } = model;
  const values = [
    instant.untrained.test,
    instant.levels.kernel,
    ...(curve?.sorted ?? []).map((p) => p.test),
    ...(simulation?.alpha ?? []).map((p) => p.test),
  ];
  return 1.1 * Math.max(...values.filter(Number.isFinite));
}

export function sizes(model, colors) {
  const { instant, sizes: curve, state } = model;
  const { n, d, N } = model.sizesNow;
  const here = (model.simulation?.alpha ?? [])
    .filter((p) => Math.abs(p.x - model.alpha) < 1e-6)
    .map((p) => ({ ...p, x: (state.axis === "n" ? n : N) / d }));
  const simulated = [...(model.simulation?.[state.axis] ?? []), ...here];
  const points = curve?.sorted ?? [];
  const values = [instant.levels.kernel, instant.levels.constant, ...points.map((p) => p.test)].filter(
    Number.isFinite,
  );
  const top = 1.15 * Math.max(...values.filter((v) => v <= 6 * instant.levels.constant));
  return {
    data: [
      ...bands(curve, model.stale.sizes, colors),
      ...errorLines(curve, model.stale.sizes, colors),
      ...levelLines(instant, AXES.ratios, colors),
      ...markers(simulated, colors),
    ],
    layout: frame(colors, {
      xaxis: {
        title: state.axis === "n" ? "rows per input, n/d" : "neurons per input, N/d",
        type: "log",
        range: AXES.ratios.map(Math.log10),
        tickvals: [0.25, 0.5, 1, 2, 5, 10, 20],
        ticktext: ["¼", "½", "1", "2", "5", "10", "20"],
      },
      yaxis: { title: "error", range: [0, top] },
    }),
  };
}
