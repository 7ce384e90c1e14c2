// What the figures share: colours, frame, words.

export const OKABE = {
  blue: "#0072B2",
  orange: "#E69F00",
  green: "#009E73",
  purple: "#CC79A7",
  sky: "#56B4E9",
  vermillion: "#D55E00",
};

/** What the legend of a figure lists: name, colour and how it is drawn. */
export function legend(data) {
  return data
    .filter((trace) => trace.showlegend !== false && trace.name && trace.x.length)
    .map((trace) => ({
      name: trace.name,
      about: trace.about ?? "",
      color:
        trace.mode === "markers"
          ? (trace.marker.line?.color ?? trace.marker.color)
          : (trace.line?.color ?? trace.marker?.color),
      kind:
        trace.mode === "markers"
          ? "point"
          : trace.fill || trace.type === "bar"
            ? "area"
            : (trace.line?.dash ?? "solid"),
    }));
}

/** Colours of the page, light or dark, as its style sheet has them. */
export function theme() {
  const style = getComputedStyle(document.documentElement);
  const get = (name) => style.getPropertyValue(`--${name}`).trim();
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const names = ["ink", "muted", "line", "card", "train", "test"];
  const degrees = [
    dark ? "#9ea8b4" : "#5a6370",
    dark ? OKABE.sky : OKABE.blue,
    OKABE.orange,
    dark ? "#2cc39a" : OKABE.green,
    OKABE.purple,
    OKABE.vermillion,
  ];
  return { ...Object.fromEntries(names.map((name) => [name, get(name)])), degrees, dark };
}

/** Bars of two standard errors; the error of a single network is unknown and has no bar. */
export const bars = (se, colors) => ({
  type: "data",
  array: se.map((s) => (s === null ? undefined : 2 * s)),
  thickness: 1.6,
  width: 4,
  color: colors.ink,
});

export function frame(colors, more = {}) {
  const axis = {
    gridcolor: colors.line,
    zerolinecolor: colors.line,
    linecolor: colors.line,
    tickcolor: colors.line,
    fixedrange: true,
    title: { standoff: 6 },
    ticklabeloverflow: "allow", // looking for overflow takes a fifth of a repaint
  };
  const { xaxis, yaxis, ...rest } = more;
  return {
    font: { family: "system-ui, sans-serif", size: 12, color: colors.ink },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 52, r: 14, t: 10, b: 42 },
    showlegend: false,
    dragmode: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: colors.card, bordercolor: colors.line, font: { color: colors.ink } },
    legend: {
      orientation: "h",
      x: 0,
      y: 1.02,
      yanchor: "bottom",
      font: { size: 11 },
      bgcolor: "rgba(0,0,0,0)",
    },
    xaxis: { ...axis, ...xaxis },
    yaxis: { ...axis, rangemode: "tozero", ...yaxis },
    ...rest,
  };
}

export const vertical = (x, color, extra = {}) => ({
  type: "line",
  x0: x,
  x1: x,
  yref: "paper",
  y0: 0,
  y1: 1,
  layer: "below",
  line: { color, width: 1, dash: "dot", ...extra },
});

/** A name above the plot, where no curve runs. */
export const mark = (x, text, color, xanchor = "center") => ({
  x,
  xanchor,
  y: 1,
  yref: "paper",
  yanchor: "bottom",
  text,
  showarrow: false,
  font: { size: 11, color },
});
