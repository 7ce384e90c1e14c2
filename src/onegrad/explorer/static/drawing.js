// What the figures share: colours, frame, words.

const OKABE = {
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
      opacity: trace.opacity ?? 1,
      color:
        trace.mode === "markers"
          ? (trace.marker.symbol !== "star" && trace.marker.line?.color) || trace.marker.color
          : (trace.line?.color ?? trace.marker?.color),
      kind:
        trace.mode === "markers"
          ? (trace.marker.symbol === "star" ? "star" : "point")
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
  const names = ["ink", "muted", "line", "axis", "card", "train", "test", "network"];
  const degrees = [
    dark ? "#9ea8b4" : "#5a6370",
    dark ? OKABE.sky : OKABE.blue,
    OKABE.orange,
    dark ? "#2cc39a" : OKABE.green,
    OKABE.purple,
    OKABE.vermillion,
  ];
  return { ...Object.fromEntries(names.map((name) => [name, get(name)])), degrees };
}

/** Bars of two standard errors; the error of a single network is unknown and has no bar. */
export const bars = (se, colors) => ({ array: se.map((s) => (s === null ? null : 2 * s)), color: colors.ink });

/** What the layouts of all figures share. */
export const frame = (colors, layout) => ({ colors, margin: { l: 52, r: 14, t: 10, b: 42 }, ...layout });
