// View (a): the spectrum of the features.

import { percent, ordinal, frame, vertical, mark } from "./drawing.js";

export function spectrum(model, colors) {
  const found = model.spectrum;
  const root = found.x.map((x) => Math.sqrt(x));
  const height = found.rho.map((r, i) => 2 * found.x[i] * r); // density of the logarithm of the root
  const edge = Math.sqrt(found.edge);
  const low = Math.log10(edge / 14);
  const high = Math.log10(1.25 * Math.max(model.farthest, 1.6 * edge));
  const data = [
    {
      x: root,
      y: height,
      type: "scatter",
      mode: "lines",
      fill: "tozeroy",
      name: "bulk",
      line: { color: colors.degrees[0], width: 1.5 },
      hovertemplate: "s/√n = %{x:.3f}<extra>bulk</extra>",
    },
  ];
  // keeps the right axis alive where spikes are drawn by overlay.js
  data.push({ x: [edge], y: [-1], yaxis: "y2", mode: "markers", hoverinfo: "skip", showlegend: false });
  if (model.simulation?.eigenvalues?.length)
    data.push(...simulatedSpectrum(model.simulation.eigenvalues, model.sizesNow.n, [low, high], colors));
  const shown = new Set();
  for (const spike of found.spikes) {
    const [degree, aligned] = dominant(spike);
    const color = colors.degrees[degree] ?? colors.ink;
    const x = Math.sqrt(spike.eigenvalue);
    data.push({
      x: [x, x],
      y: [0, Math.max(aligned, 0.03)],
      yaxis: "y2",
      type: "scatter",
      mode: "lines+markers",
      name: `${ordinal(degree)} spike`,
      showlegend: !shown.has(degree),
      line: { color, width: 3 },
      marker: { color, size: [0, 12], opacity: 1 },
      hovertemplate: `%{x:.3f}<extra>${ordinal(degree)} spike</extra>`,
      cliponaxis: false,
      moving: true,
      tip: `s/√n = ${x.toFixed(3)}\n${alignments(spike)}`,
    });
    shown.add(degree);
  }
  return {
    data,
    layout: frame(colors, {
      xaxis: {
        title: { text: "singular values of F, over √n" },
        type: "log",
        range: [low, high],
        dtick: 1,
        minor: { ticks: "outside", ticklen: 3, tickcolor: colors.line },
      },
      yaxis: {
        title: { text: "bulk density" },
        range: [0, 1.25 * Math.max(...height)],
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
      margin: { l: 34, r: 62, t: 10, b: 42 },
      shapes: [vertical(edge, colors.muted)],
      annotations: [mark(Math.log10(edge), "edge", colors.muted)],
    }),
    caption: spectrumCaption(found),
  };
}

/** Histogram over the logarithm as a share of all n eigenvalues, and the largest four of every network. */
function simulatedSpectrum(networks, n, [low, high], colors) {
  const logs = networks.flat().map((x) => 0.5 * Math.log10(Math.max(x, 1e-300)));
  const bins = 70;
  const width = (high - low) / bins;
  const counts = new Array(bins).fill(0);
  for (const x of logs) if (x >= low && x < high) counts[Math.floor((x - low) / width)] += 1;
  const centre = (i) => 10 ** (low + (i + 0.5) * width);
  const top = networks.flatMap((network) => network.slice(0, 4)).map(Math.sqrt);
  return [
    {
      x: counts.map((_, i) => centre(i)),
      y: counts.map((c) => c / (n * networks.length) / (width * Math.LN10)),
      type: "bar",
      width: counts.map((_, i) => centre(i) * width * Math.LN10),
      marker: { color: colors.ink, opacity: 0.3 },
      name: `${networks.length} networks`,
      hoverinfo: "skip",
    },
    {
      x: top,
      y: top.map(() => 0.025),
      yaxis: "y2",
      type: "scatter",
      mode: "markers",
      name: "their top four",
      cliponaxis: false,
      marker: { symbol: "line-ns", size: 12, line: { width: 2, color: colors.ink } },
      hovertemplate: "s/√n = %{x:.3f}<extra>simulated</extra>",
    },
  ];
}

function dominant(spike) {
  const pairs = Object.entries(spike.alignment).map(([k, v]) => [Number(k), v]);
  return pairs.sort((p, q) => q[1] - p[1])[0] ?? [0, 0];
}

const alignments = (spike) =>
  Object.entries(spike.alignment)
    .filter(([, v]) => v > 0.005)
    .map(([k, v]) => `${ordinal(Number(k))}: ${percent(v)}`)
    .join("\n");

function spectrumCaption(found) {
  if (!found.spikes.length)
    return "No spike has left the bulk: the features are still those of the untrained network.";
  const words = found.spikes.map((spike) => {
    const [degree, aligned] = dominant(spike);
    return `${percent(aligned)} ${ordinal(degree)}`;
  });
  const count = found.spikes.length === 1 ? "One spike stands" : `${found.spikes.length} spikes stand`;
  return `${count} outside the bulk: ${words.join(", ")}.`;
}
