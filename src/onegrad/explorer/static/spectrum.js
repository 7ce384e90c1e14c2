// The spectrum of the features: bulk, spikes, and the singular values of real networks.

import { dominant } from "./captions.js";
import { frame } from "./drawing.js";
import { ordinal, percent } from "./words.js";

const BINS = 70; // of the networks' singular values
const EMPTY = 0.004; // of the highest density: below it there is nothing to see
const MOST_MARKS = 6; // singular values of a network that are marked beyond the edge

export function spectrum(model, colors) {
  const { x, rho, edge: edgeEigenvalue, spikes: outliers } = model.spectrum;
  const root = x.map(Math.sqrt);
  const height = rho.map((r, i) => 2 * x[i] * r); // density of the logarithm of the root
  const highest = Math.max(...height);
  const edge = Math.sqrt(edgeEigenvalue);
  const start = root[Math.max(0, height.findIndex((h) => h > EMPTY * highest) - 1)];
  const low = Math.log10(0.85 * Math.min(start, edge / 4));
  const high = Math.log10(1.25 * Math.max(model.farthest, 1.6 * edge));
  const simulated = model.simulation?.eigenvalues?.length ? model.simulation.eigenvalues : null;
  const measured = simulated ?? (model.network?.eigenvalues && [model.network.eigenvalues]);
  const opacity = !simulated && model.stale.network ? 0.3 : 1;
  const bulk = {
    x: root,
    y: height,
    fill: "tozeroy",
    fillcolor: colors.degrees[0],
    fillopacity: 0.22,
    name: "bulk, theory",
    series: "bulk density",
    about: "density of the trained features at this n",
    line: { color: colors.degrees[0], width: 1.8 },
  };
  return {
    data: [
      bulk,
      ...(measured ? networks(measured, model.spectrumAt.n, [low, high, edge], colors, opacity) : []),
      ...spikes(outliers, colors),
    ],
    layout: frame(colors, {
      xaxis: { title: "singular values s of F, over √n", type: "log", range: [low, high] },
      yaxis: { title: "bulk density", range: [0, 1.25 * highest], ticks: false, grid: false, titleAt: 16 },
      yaxis2: {
        side: "right",
        range: [0, 1.12],
        tickvals: [0, 0.5, 1],
        ticktext: ["0", "50 %", "100 %"],
        grid: false,
        title: "alignment of a spike",
        color: colors.muted,
      },
      margin: { l: 34, r: 62, t: 22, b: 42 },
      verticals: [{ x: edge, color: colors.muted, dash: "dot" }],
      labels: [{ x: edge, text: "edge of the bulk", color: colors.muted }],
    }),
  };
}

function spikes(outliers, colors) {
  const shown = new Set();
  return outliers.map((spike) => {
    const [degree, aligned] = dominant(spike);
    const color = colors.degrees[degree] ?? colors.ink;
    const x = Math.sqrt(spike.eigenvalue);
    const name = degree ? `${ordinal(degree)} spike` : "untrained spike";
    const first = !shown.has(degree);
    shown.add(degree);
    return {
      x: [x, x],
      y: [0, Math.max(aligned, 0.03)],
      yaxis: "y2",
      mode: "lines+markers",
      name,
      series: name,
      showlegend: first,
      line: { color, width: 3 },
      marker: { color, size: [0, 12] },
      unclipped: true,
      tip: [`${name} at s/√n = ${x.toFixed(3)}`, ...alignments(spike)].join("\n"),
    };
  });
}

/** How many singular values fall into each of equal bins of the logarithm; the last answer is kept. */
function histogram(networks, low, high) {
  if (last.networks === networks.at(-1) && last.low === low && last.high === high) return last.counts;
  const counts = new Array(BINS).fill(0);
  for (const x of networks.flat()) {
    const bin = Math.floor(((0.5 * Math.log10(Math.max(x, 1e-300)) - low) / (high - low)) * BINS);
    if (bin >= 0 && bin < BINS) counts[bin] += 1;
  }
  last = { networks: networks.at(-1), low, high, counts };
  return counts;
}
let last = {};

/** Histogram over the logarithm as a share of all n eigenvalues; the values beyond the edge as tall marks. */
function networks(eigenvalues, n, [low, high, edge], colors, opacity) {
  const bins = histogram(eigenvalues, low, high);
  const width = (high - low) / BINS;
  const heights = bins.map((count) => count / (n * eigenvalues.length) / (width * Math.LN10));
  const corners = bins.flatMap((_, i) => [low + i * width, low + (i + 1) * width]);
  const beyond = eigenvalues.map((network) => network.slice(0, MOST_MARKS).map(Math.sqrt).filter((s) => s > 1.02 * edge));
  const one = eigenvalues.length === 1;
  const largest = eigenvalues.map((network) => Math.sqrt(network[0]).toFixed(3)).join(", ");
  return [
    {
      x: corners.map((x) => 10 ** x),
      y: heights.flatMap((h) => [h, h]),
      fill: "tozeroy",
      fillcolor: colors.network,
      fillopacity: 0.32,
      line: { color: colors.network, width: 1 },
      name: one ? "one real network" : `${eigenvalues.length} real networks`,
      opacity,
    },
    {
      x: beyond.flat().flatMap((s) => [s, s, null]),
      y: beyond.flat().flatMap(() => [0, 1.07, null]),
      yaxis: "y2",
      mode: "lines+markers",
      name: one ? "its values beyond the edge" : "their values beyond the edge",
      line: { color: colors.network, width: 1.6, dash: "dash" },
      marker: { color: colors.network, size: beyond.flat().flatMap(() => [0, 11, 0]), symbol: "triangle" },
      opacity,
      unclipped: true,
      tip: `largest of ${one ? "the network" : "each network"}: s/√n = ${largest}`,
    },
  ];
}

const alignments = (spike) =>
  Object.entries(spike.alignment)
    .filter(([, v]) => v > 0.005)
    .map(([k, v]) => `${percent(v)} aligned with the ${ordinal(Number(k))} part`);
