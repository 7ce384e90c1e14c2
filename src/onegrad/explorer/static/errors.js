// Views (b) and (d): errors against the step and against a size.

import { bands } from "./bands.js";
import { bars, percent, short, frame, vertical } from "./drawing.js";

const THRESHOLDS = { 0: "0", 0.25: "1/4", 0.333: "1/3", 0.375: "3/8", 0.4: "2/5" };
export const thresholdName = (x) => THRESHOLDS[Number(x.toFixed(3))] ?? short(x);

export function errors(model, colors) {
  const { instant, curve, simulation } = model;
  const data = [
    ...bands(curve, model.stale.curve, colors),
    ...errorLines(curve, model.stale.curve, colors),
    ...asymptotic(instant.staircase, "staircase", "dash", colors),
    ...asymptotic(instant.small_step, "small step", "dot", colors),
    ...levelLines(instant, colors),
    ...markers(simulation?.alpha, colors),
  ];
  const [low, high] = instant.alphas;
  return {
    data,
    layout: frame(colors, {
      xaxis: { title: { text: "step exponent α (η = n<sup>α</sup>)" }, range: [low, high] },
      yaxis: { title: { text: "error" }, range: [0, round(ceiling(model))] },
      shapes: instant.thresholds.map((x) => vertical(x, colors.line, { dash: "solid" })),
    }),
    caption: errorsCaption(model),
  };
}

function errorLines(curve, stale, colors) {
  const points = curve?.sorted ?? [];
  return ["test", "train"].map((name) => ({
    x: points.map((p) => p.x),
    y: points.map((p) => p[name]),
    type: "scatter",
    mode: points.length < 3 ? "markers" : "lines",
    name,
    line: { color: colors[name], width: 3 },
    marker: { color: colors[name] },
    opacity: stale ? 0.3 : 1,
    hovertemplate: `%{y:.4f}<extra>${name}, uniform theory</extra>`,
  }));
}

function asymptotic(found, name, dash, colors) {
  return ["test", "train"].map((which, i) => ({
    x: found.alpha,
    y: found[which],
    type: "scatter",
    mode: "lines",
    name,
    legendgroup: name,
    showlegend: i === 0 && found.alpha.length > 0,
    line: { color: colors[which], width: 1.4, dash },
    opacity: 0.75,
    moving: true,
    tip: `${which}, ${name}`,
    hovertemplate: `%{y:.4f}<extra>${which}, ${name}</extra>`,
  }));
}

/** The reference levels: the bound, and the label noise where it is a line of its own. */
function levels({ levels: { kernel, noise } }, colors) {
  const text = "best linear predictor = kernel lower bound";
  const found = [{ y: kernel, text, color: colors.degrees[3], dash: "longdash" }];
  if (noise > 0 && noise < 0.9 * kernel)
    found.push({ y: noise, text: "label noise", color: colors.muted, dash: "dot" });
  return found;
}

/** The reference levels as traces: they move with the noise. */
function levelLines(instant, colors) {
  return levels(instant, colors).map(({ y, text, color, dash }) => ({
    x: instant.alphas,
    y: [y, y],
    type: "scatter",
    mode: "lines+text",
    text: ["", text],
    textposition: "top left",
    textfont: { size: 10, color },
    showlegend: false,
    line: { color, width: 1.3, dash },
    hoverinfo: "skip",
    moving: true,
  }));
}

/** The next round number: an axis that stays while a slider moves need not be drawn again. */
function round(value) {
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
    type: "scatter",
    mode: "markers",
    name: "simulated",
    legendgroup: "simulated",
    showlegend: i === 0,
    marker: {
      color: colors[name],
      size: 8,
      symbol: i ? "square" : "circle",
      line: { color: colors.ink, width: 1.2 },
    },
    hovertemplate: points.map((p) => {
      const bar = p[`${name}_se`] === null ? "" : " ± %{error_y.array:.4f}";
      return `%{y:.4f}${bar}<extra>${name}, simulated</extra>`;
    }),
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

const horizontal = ({ y, color, dash }) => ({
  type: "line",
  xref: "paper",
  x0: 0,
  x1: 1,
  y0: y,
  y1: y,
  layer: "below",
  line: { color, width: 1.3, dash },
});

const levelName = ({ y, text, color }) => ({
  xref: "paper",
  x: 1,
  xanchor: "right",
  y,
  yanchor: "bottom",
  text,
  showarrow: false,
  font: { size: 10, color },
});

function errorsCaption({ curve, instant, here }) {
  if (curve?.complaint && !curve.length) return curve.complaint;
  if (!here) return "The uniform theory is being computed; the asymptotic theories are drawn already.";
  const { kernel } = instant.levels;
  const drop = 1 - here.test / instant.untrained.test;
  const beats = here.test < kernel ? "below what any kernel method reaches" : "above the kernel lower bound";
  return `At this step the test error is ${short(here.test)}, ${percent(Math.abs(drop))} ${drop >= 0 ? "below" : "above"} the untrained network and ${beats}.`;
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
      ...markers(simulated, colors),
    ],
    layout: frame(colors, {
      xaxis: {
        title: { text: state.axis === "n" ? "rows per input, n/d" : "neurons per input, N/d" },
        type: "log",
        range: [Math.log10(0.25), Math.log10(25)],
        tickvals: [0.25, 0.5, 1, 2, 5, 10, 20],
        ticktext: ["1/4", "1/2", "1", "2", "5", "10", "20"],
      },
      yaxis: { title: { text: "error" }, range: [0, top] },
      shapes: levels(instant, colors).map(horizontal),
      annotations: levels(instant, colors).map(levelName),
    }),
    caption: sizesCaption(model),
  };
}

function sizesCaption({ sizes: curve, state, sizesNow }) {
  if (curve?.complaint && !curve.length) return curve.complaint;
  if (!curve?.length) return "The curve is being computed.";
  const best = curve.sorted.reduce((p, q) => (q.test < p.test ? q : p));
  const [other, step] = state.axis === "n" ? ["N", "α"] : ["n", "η"];
  const fixed = `${other}/d = ${short(sizesNow[other] / sizesNow.d)}, ${step} is kept`;
  return `At ${fixed}: the test error is smallest near ${state.axis}/d = ${short(best.x)}.`;
}
