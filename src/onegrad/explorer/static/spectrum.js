// The spectrum of the features: bulk, spikes, and the singular values of real networks.

import { dominant } from "./captions.js";
import { frame, mark, vertical } from "./drawing.js";
import { ordinal, percent } from "./words.js";

const BINS = 70; // of the networks' singular values
const EMPTY = 0.004; // of the highest density: below it there is nothing to see

export function spectrum(model, colors) {
  const { x, rho, edge: edgeEigenvalue, spikes: outliers } = model.spectrum;
  const root = x.map(Math.sqrt);
  const height = rho.map((r, i) => 2 * x[i] * r); // density of the logarithm of the root
  const highest = Math.max(...height);
  const edge = Math.sqrt(edgeEigenvalue);
  const start = root[Math.max(0, height.findIndex((h) => h > EMPTY * highest) - 1)];
  const low = Math.log10(0.85 * Math.min(start, edge / 4));
  const high = Math.log10(1.25 * Math.max(model.farthest, 1.6 * edge));
  const data = [
    {
      x: root,
      y: height,
      type: "scatter",
      mode: "lines",
      fill: "tozeroy",
      name: "bulk",
      about: "density in the limit, that of the untrained features; at this n a large step deforms it",
      line: { color: colors.degrees[0], width: 1.5 },
      hovertemplate: "s/√n = %{x:.3f}<extra>bulk</extra>",
    },
  ];
  // keeps the right axis alive where spikes are drawn by overlay.js
  data.push({ x: [edge], y: [-1], yaxis: "y2", mode: "markers", hoverinfo: "skip", showlegend: false });
  const measured = model.simulation?.eigenvalues?.length
    ? model.simulation.eigenvalues
    : model.network?.eigenvalues && [model.network.eigenvalues];
  const old = measured && !model.simulation?.eigenvalues?.length && model.stale.network;
  if (measured) data.push(...networks(measured, model.spectrumAt.n, [low, high], colors, old ? 0.3 : 1));
  data.push(...spikes(outliers, colors));
  return {
    data,
    layout: frame(colors, {
      xaxis: {
        title: { text: "singular values s of F, over √n" },
        type: "log",
        range: [low, high],
        dtick: 1,
        minor: { ticks: "outside", ticklen: 3, tickcolor: colors.line },
      },
      yaxis: {
        title: { text: "bulk density" },
        range: [0, 1.25 * highest],
        showticklabels: false,
        showgrid: false,
      },
      yaxis2: {
        overlaying: "y",
        side: "right",
        range: [0, 1.12],
        tickvals: [0, 0.5, 1],
        ticktext: ["0", "50 %", "100 %"],
        showgrid: false,
        ticklabeloverflow: "allow",
        zeroline: false,
        fixedrange: true,
        title: { text: "alignment of a spike", standoff: 4 },
        color: colors.muted,
      },
      margin: { l: 34, r: 62, t: 22, b: 42 },
      shapes: [vertical(edge, colors.muted)],
      annotations: [mark(Math.log10(edge), "edge of the bulk", colors.muted)],
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
      type: "scatter",
      mode: "lines+markers",
      name,
      showlegend: first,
      line: { color, width: 3 },
      marker: { color, size: [0, 12], opacity: 1 },
      hovertemplate: `%{x:.3f}<extra>${name}</extra>`,
      cliponaxis: false,
      moving: true,
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

/** Histogram over the logarithm as a share of all n eigenvalues, and the largest four of every network. */
function networks(eigenvalues, n, [low, high], colors, opacity) {
  const bins = histogram(eigenvalues, low, high);
  const width = (high - low) / BINS;
  const heights = bins.map((count) => count / (n * eigenvalues.length) / (width * Math.LN10));
  const corners = bins.flatMap((_, i) => [low + i * width, low + (i + 1) * width]);
  const top = eigenvalues.flatMap((network) => network.slice(0, 4)).map(Math.sqrt);
  const one = eigenvalues.length === 1;
  return [
    {
      x: corners.map((x) => 10 ** x),
      y: heights.flatMap((h) => [h, h]),
      type: "scatter",
      mode: "lines",
      fill: "tozeroy",
      fillcolor: colors.dark ? "rgba(233,235,238,.25)" : "rgba(29,33,38,.25)",
      line: { color: colors.ink, width: 0.8 },
      name: one ? "one real network" : `${eigenvalues.length} real networks`,
      hoverinfo: "skip",
      opacity,
      moving: true,
    },
    {
      x: top.flatMap((s) => [s, s, null]),
      y: top.flatMap(() => [0, 0.055, null]),
      yaxis: "y2",
      type: "scatter",
      mode: "lines",
      name: one ? "its top four" : "their top four",
      line: { color: colors.ink, width: 2.5 },
      hoverinfo: "skip",
      opacity,
      moving: true,
      tip: `largest of ${one ? "the network" : "each network"}: s/√n = ${eigenvalues
        .map((network) => Math.sqrt(network[0]).toFixed(3))
        .join(", ")}`,
    },
  ];
}

const alignments = (spike) =>
  Object.entries(spike.alignment)
    .filter(([, v]) => v > 0.005)
    .map(([k, v]) => `${percent(v)} aligned with the ${ordinal(Number(k))} part`);
