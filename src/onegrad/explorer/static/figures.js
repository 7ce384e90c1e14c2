// The four figures: from what is known to Plotly's data and layout, and a caption in words.

export const OKABE = { blue: "#0072B2", orange: "#E69F00", green: "#009E73", purple: "#CC79A7", sky: "#56B4E9", vermillion: "#D55E00" };

/** What the legend of a figure lists: name, colour and how it is drawn. */
export function legend(data) {
  return data.filter((trace) => trace.showlegend !== false && trace.name && trace.x.length).map((trace) => ({
    name: trace.name,
    color: trace.mode === "markers" ? trace.marker.line?.color ?? trace.marker.color : trace.line?.color ?? trace.marker?.color,
    kind: trace.mode === "markers" ? "point" : trace.fill || trace.type === "bar" ? "area" : trace.line?.dash ?? "solid",
  }));
}

/** Colours of the page, light or dark, as its style sheet has them. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const names = ["ink", "muted", "line", "card", "train", "test"];
  const degrees = [dark ? "#9ea8b4" : "#5a6370", dark ? OKABE.sky : OKABE.blue, OKABE.orange, dark ? "#2cc39a" : OKABE.green, OKABE.purple, OKABE.vermillion];
  return { ...Object.fromEntries(names.map((name) => [name, get(name)])), degrees, dark };
}

const percent = (x) => `${Math.round(100 * x)} %`;
export const short = (x) => (Math.abs(x) >= 100 ? x.toFixed(0) : Number(x.toPrecision(3)).toString());
const ordinal = (k) => ["constant", "linear", "quadratic", "cubic", "quartic"][k] ?? `degree ${k}`;

function frame(colors, more = {}) {
  const axis = {
    gridcolor: colors.line, zerolinecolor: colors.line, linecolor: colors.line, tickcolor: colors.line, fixedrange: true,
    title: { standoff: 6 },
  };
  const { xaxis, yaxis, ...rest } = more;
  return {
    font: { family: "system-ui, sans-serif", size: 12, color: colors.ink }, paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)", margin: { l: 52, r: 14, t: 10, b: 42 }, showlegend: false, dragmode: false, hovermode: "closest",
    hoverlabel: { bgcolor: colors.card, bordercolor: colors.line, font: { color: colors.ink } },
    legend: { orientation: "h", x: 0, y: 1.02, yanchor: "bottom", font: { size: 11 }, bgcolor: "rgba(0,0,0,0)" },
    xaxis: { ...axis, ...xaxis }, yaxis: { ...axis, rangemode: "tozero", ...yaxis }, ...rest,
  };
}

const vertical = (x, color, extra = {}) => ({
  type: "line", x0: x, x1: x, yref: "paper", y0: 0, y1: 1, layer: "below", line: { color, width: 1, dash: "dot", ...extra },
});

const mark = (x, text, color) => ({
  x, y: 1, yref: "paper", yanchor: "top", xanchor: "left", text, showarrow: false, font: { size: 10, color }, xshift: 1,
});

// -- (a) the spectrum --------------------------------------------------------------------------

export function spectrum(model, colors) {
  const found = model.spectrum;
  const root = found.x.map((x) => Math.sqrt(x));
  const height = found.rho.map((r, i) => 2 * found.x[i] * r); // density of the logarithm of the root
  const edge = Math.sqrt(found.edge);
  const low = Math.log10(edge / 14);
  const high = Math.log10(1.25 * Math.max(model.farthest, 1.6 * edge));
  const data = [{
    x: root, y: height, type: "scatter", mode: "lines", fill: "tozeroy", name: "bulk", line: { color: colors.degrees[0], width: 1.5 },
    hovertemplate: "s/√n = %{x:.3f}<extra>bulk</extra>",
  }];
  if (model.simulation?.eigenvalues?.length) data.push(...simulatedSpectrum(model.simulation.eigenvalues, model.sizesNow.n, [low, high], colors));
  const shown = new Set();
  for (const spike of found.spikes) {
    const [degree, aligned] = dominant(spike);
    const color = colors.degrees[degree] ?? colors.ink;
    const x = Math.sqrt(spike.eigenvalue);
    data.push({
      x: [x, x], y: [0, Math.max(aligned, 0.03)], yaxis: "y2", type: "scatter", mode: "lines+markers", name: `${ordinal(degree)} spike`,
      showlegend: !shown.has(degree), line: { color, width: 3 }, marker: { color, size: [0, 12], opacity: 1 },
      hovertemplate: `s/√n = %{x:.3f}<br>${alignments(spike)}<extra></extra>`, cliponaxis: false,
    });
    shown.add(degree);
  }
  return {
    data,
    layout: frame(colors, {
      xaxis: { title: { text: "singular values of F, over √n" }, type: "log", range: [low, high], dtick: 1, minor: { ticks: "outside", ticklen: 3, tickcolor: colors.line } },
      yaxis: { title: { text: "bulk density" }, range: [0, 1.25 * Math.max(...height)], showticklabels: false, showgrid: false },
      yaxis2: { overlaying: "y", side: "right", range: [0, 1.12], tickvals: [0, 0.5, 1], ticktext: ["0", "50 %", "100 %"], showgrid: false, zeroline: false, fixedrange: true,
        title: { text: "alignment of a spike", standoff: 4 }, color: colors.muted },
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
  return [{
    x: counts.map((_, i) => centre(i)), y: counts.map((c) => c / (n * networks.length) / (width * Math.LN10)), type: "bar",
    width: counts.map((_, i) => centre(i) * width * Math.LN10), marker: { color: colors.ink, opacity: 0.3 }, name: `${networks.length} networks`, hoverinfo: "skip",
  }, {
    x: top, y: top.map(() => 0.025), yaxis: "y2", type: "scatter", mode: "markers", name: "their top four", cliponaxis: false,
    marker: { symbol: "line-ns", size: 12, line: { width: 2, color: colors.ink } }, hovertemplate: "s/√n = %{x:.3f}<extra>simulated</extra>",
  }];
}

function dominant(spike) {
  const pairs = Object.entries(spike.alignment).map(([k, v]) => [Number(k), v]);
  return pairs.sort((p, q) => q[1] - p[1])[0] ?? [0, 0];
}

const alignments = (spike) => Object.entries(spike.alignment).filter(([, v]) => v > 0.005)
  .map(([k, v]) => `${ordinal(Number(k))}: ${percent(v)}`).join("<br>");

function spectrumCaption(found) {
  if (!found.spikes.length) return "No spike has left the bulk: the features are still those of the untrained network.";
  const words = found.spikes.map((spike) => {
    const [degree, aligned] = dominant(spike);
    return `${percent(aligned)} ${ordinal(degree)}`;
  });
  const count = found.spikes.length === 1 ? "One spike stands" : `${found.spikes.length} spikes stand`;
  return `${count} outside the bulk: ${words.join(", ")}.`;
}

// -- (b) errors against the step ---------------------------------------------------------------

const THRESHOLDS = { 0: "0", 0.25: "1/4", 0.333: "1/3", 0.375: "3/8", 0.4: "2/5" };
export const thresholdName = (x) => THRESHOLDS[Number(x.toFixed(3))] ?? short(x);

export function errors(model, colors) {
  const { instant, curve, simulation } = model;
  const data = [
    ...errorLines(curve, (p) => p.x, model.stale.curve, colors),
    ...asymptotic(instant.staircase, "staircase", "dash", colors),
    ...asymptotic(instant.small_step, "small step", "dot", colors),
    ...markers(simulation?.alpha, (p) => p.x, colors),
  ];
  const [low, high] = instant.alphas;
  return {
    data,
    layout: frame(colors, {
      xaxis: { title: { text: "step exponent α (η = n<sup>α</sup>)" }, range: [low, high] },
      yaxis: { title: { text: "error" }, range: [0, ceiling(model)] },
      shapes: [...instant.thresholds.map((x) => vertical(x, colors.line, { dash: "solid" })), ...levels(instant, colors)],
      annotations: [...levelNames(instant, colors)],
    }),
    caption: errorsCaption(model),
  };
}

function errorLines(curve, x, stale, colors) {
  const opacity = stale ? 0.3 : 1;
  const points = curve?.sorted ?? [];
  return ["test", "train"].map((name) => ({
    x: points.map(x), y: points.map((p) => p[name]), type: "scatter", mode: points.length < 3 ? "markers" : "lines", name,
    line: { color: colors[name], width: 3 }, marker: { color: colors[name] }, opacity,
    hovertemplate: `%{y:.4f}<extra>${name}, uniform theory</extra>`,
  }));
}

function asymptotic(found, name, dash, colors) {
  return ["test", "train"].map((which, i) => ({
    x: found.alpha, y: found[which], type: "scatter", mode: "lines", name, legendgroup: name, showlegend: i === 0 && found.alpha.length > 0,
    line: { color: colors[which], width: 1.4, dash }, opacity: 0.75, hovertemplate: `%{y:.4f}<extra>${which}, ${name}</extra>`,
  }));
}

function markers(points, x, colors) {
  if (!points?.length) return [];
  return ["test", "train"].map((name, i) => ({
    x: points.map(x), y: points.map((p) => p[name]), error_y: { type: "data", array: points.map((p) => 2 * p[`${name}_se`]), thickness: 1.6, width: 4, color: colors.ink },
    type: "scatter", mode: "markers", name: "simulated", legendgroup: "simulated", showlegend: i === 0,
    marker: { color: colors[name], size: 8, symbol: i ? "square" : "circle", line: { color: colors.ink, width: 1.2 } },
    hovertemplate: `%{y:.4f} ± %{error_y.array:.4f}<extra>${name}, simulated</extra>`,
  }));
}

function ceiling(model) {
  const { instant, curve, simulation } = model;
  const values = [instant.untrained.test, instant.levels.kernel, ...(curve?.sorted ?? []).map((p) => p.test), ...(simulation?.alpha ?? []).map((p) => p.test)];
  return 1.1 * Math.max(...values.filter(Number.isFinite));
}

const horizontal = (y, color, dash) => ({
  type: "line", xref: "paper", x0: 0, x1: 1, y0: y, y1: y, layer: "below", line: { color, width: 1.3, dash },
});

/** Whether the label noise is a line of its own, apart from the bound. */
const noiseApart = ({ levels: { noise, kernel } }) => noise > 0 && noise < 0.9 * kernel;

function levels(instant, colors) {
  const lines = [horizontal(instant.levels.kernel, colors.degrees[3], "longdash")];
  if (noiseApart(instant)) lines.push(horizontal(instant.levels.noise, colors.muted, "dot"));
  return lines;
}

function levelNames(instant, colors) {
  const name = (y, text, color) => ({ xref: "paper", x: 1, xanchor: "right", y, yanchor: "bottom", text, showarrow: false, font: { size: 10, color } });
  const names = [name(instant.levels.kernel, "best linear predictor = kernel lower bound", colors.degrees[3])];
  if (noiseApart(instant)) names.push(name(instant.levels.noise, "label noise", colors.muted));
  return names;
}

function errorsCaption({ curve, instant, here }) {
  if (curve?.complaint && !curve.length) return curve.complaint;
  if (!here) return "The uniform theory is being computed; the asymptotic theories are drawn already.";
  const { kernel } = instant.levels;
  const drop = 1 - here.test / instant.untrained.test;
  const beats = here.test < kernel ? "below what any kernel method reaches" : "above the kernel lower bound";
  return `At this step the test error is ${short(here.test)}, ${percent(Math.abs(drop))} ${drop >= 0 ? "below" : "above"} the untrained network and ${beats}.`;
}

// -- (c) what is learned -----------------------------------------------------------------------

export function learned(model, colors, narrow) {
  if (!model.here?.learned) return null;
  const { u, target: truth, coefficients: target, variance } = model.instant.teacher;
  const found = { u, truth, target, variance, learned: model.here.learned, fitted: u.map((x) => hermiteSum(model.here.learned, x)) };
  const energy = (k) => found.target[k] ** 2;
  const explained = (k, coefficient = found.learned[k]) => coefficient * (2 * found.target[k] - coefficient);
  const last = Math.max(4, ...found.target.map((_, k) => (k <= 8 && energy(k) > 0.005 * found.variance ? k : 0)));
  const degrees = found.target.map((_, k) => k).filter((k) => k > 0 && k <= last);
  const label = (k) => (energy(k) > 0.005 * found.variance ? percent(Math.max(0, explained(k)) / energy(k)) : "");
  const bar = { type: "bar", xaxis: "x2", yaxis: "y2", x: degrees.map(String), showlegend: false };
  const data = [
    { x: found.u, y: found.truth, type: "scatter", mode: "lines", name: "target σ*(u)", line: { color: colors.ink, width: 2, dash: "dash" }, hovertemplate: "%{y:.3f}<extra>target</extra>" },
    { x: found.u, y: found.fitted, type: "scatter", mode: "lines", name: "fitted, mean given u", line: { color: colors.test, width: 3.2 }, hovertemplate: "%{y:.3f}<extra>fitted</extra>" },
    { ...bar, y: degrees.map(energy), marker: { color: "rgba(0,0,0,0)", line: { color: colors.ink, width: 1.4 } }, hovertemplate: "degree %{x}: %{y:.4f}<extra>in the target</extra>" },
    { ...bar, y: degrees.map((k) => Math.max(0, explained(k))), marker: { color: degrees.map((k) => colors.degrees[k] ?? colors.muted) },
      hovertemplate: "degree %{x}: %{y:.4f}<extra>learned</extra>" },
    ...simulatedLearned(model.simulation?.learned, degrees, explained, found, colors),
  ];
  const most = Math.max(...degrees.map(energy), 1e-9);
  const reach = 1.15 * Math.max(...found.truth.map(Math.abs));
  const axis = { gridcolor: colors.line, zerolinecolor: colors.line, fixedrange: true };
  const [left, right] = narrow ? [{ x: [0, 1], y: [0.55, 1] }, { x: [0, 1], y: [0, 0.36] }] : [{ x: [0, 0.56], y: [0, 1] }, { x: [0.68, 1], y: [0, 1] }];
  return {
    data,
    layout: frame(colors, {
      barmode: "overlay", bargap: 0.25,
      xaxis: { domain: left.x, anchor: "y", title: { text: "index u = β*·x" }, range: [-3, 3] },
      yaxis: { domain: left.y, anchor: "x", rangemode: "normal", range: [Math.min(-0.1 * reach, 1.15 * Math.min(...found.truth)), reach] },
      xaxis2: { ...axis, domain: right.x, anchor: "y2", title: { text: "Hermite degree" }, type: "category", showgrid: false },
      yaxis2: { ...axis, domain: right.y, anchor: "x2", title: { text: "energy" }, range: [0, 1.18 * most] },
      annotations: degrees.map((k, i) => ({ xref: "x2", yref: "y2", x: i, y: energy(k), yanchor: "bottom", text: label(k), showarrow: false, font: { size: 10 } })),
    }),
    caption: learnedCaption(found, energy, explained, degrees),
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

function simulatedLearned(measured, degrees, explained, found, colors) {
  if (!measured) return [];
  const bars = (values) => ({ type: "data", array: values, thickness: 1.5, width: 3, color: colors.ink });
  const marker = { color: colors.card, size: 7, line: { color: colors.ink, width: 1.6 } };
  const slope = (k) => Math.abs(2 * (found.target[k] - measured.coefficients[k])); // of what is explained, in the coefficient
  return [
    { x: measured.u, y: measured.fitted, error_y: bars(measured.fitted_se.map((s) => 2 * s)), type: "scatter", mode: "markers", marker, name: "simulated", hovertemplate: "%{y:.3f}<extra>fitted, simulated</extra>" },
    { x: degrees.map(String), y: degrees.map((k) => explained(k, measured.coefficients[k])), error_y: bars(degrees.map((k) => 2 * slope(k) * measured.coefficients_se[k])),
      xaxis: "x2", yaxis: "y2", type: "scatter", mode: "markers", marker, showlegend: false, hovertemplate: "degree %{x}: %{y:.4f}<extra>learned, simulated</extra>" },
  ];
}

function learnedCaption(found, energy, explained, degrees) {
  const parts = degrees.filter((k) => energy(k) > 0.01 * found.variance).map((k) => `${percent(Math.max(0, explained(k)) / energy(k))} of the ${ordinal(k)} part`);
  return `Learned so far: ${parts.join(", ")}.`;
}

// -- (d) errors against a size -----------------------------------------------------------------

export function sizes(model, colors) {
  const { instant, sizes: curve, state } = model;
  const { n, d, N } = model.sizesNow;
  const here = (model.simulation?.alpha ?? []).filter((p) => Math.abs(p.x - model.alpha) < 1e-6).map((p) => ({ ...p, x: (state.axis === "n" ? n : N) / d }));
  const simulated = [...(model.simulation?.[state.axis] ?? []), ...here];
  const points = curve?.sorted ?? [];
  const values = [instant.levels.kernel, instant.levels.constant, ...points.map((p) => p.test)].filter(Number.isFinite);
  const top = 1.15 * Math.max(...values.filter((v) => v <= 6 * instant.levels.constant));
  const letter = state.axis;
  return {
    data: [...errorLines(curve, (p) => p.x, model.stale.sizes, colors), ...markers(simulated, (p) => p.x, colors)],
    layout: frame(colors, {
      xaxis: { title: { text: letter === "n" ? "rows per input, n/d" : "neurons per input, N/d" }, type: "log", range: [Math.log10(0.25), Math.log10(25)],
        tickvals: [0.25, 0.5, 1, 2, 5, 10, 20], ticktext: ["1/4", "1/2", "1", "2", "5", "10", "20"] },
      yaxis: { title: { text: "error" }, range: [0, top] },
      shapes: levels(instant, colors), annotations: levelNames(instant, colors),
    }),
    caption: sizesCaption(model),
  };
}

function sizesCaption({ sizes: curve, state, sizesNow }) {
  if (curve?.complaint && !curve.length) return curve.complaint;
  if (!curve?.length) return "The curve is being computed.";
  const best = curve.sorted.reduce((p, q) => (q.test < p.test ? q : p));
  const [letter, other] = state.axis === "n" ? ["n", `N/d = ${short(sizesNow.N / sizesNow.d)}`] : ["N", `n/d = ${short(sizesNow.n / sizesNow.d)}`];
  const step = state.axis === "n" ? "α is kept" : "η is kept";
  return `At ${other}, ${step}: the test error is smallest near ${letter}/d = ${short(best.x)}.`;
}
