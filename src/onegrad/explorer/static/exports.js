// Saving a view: picture or numbers.

import { cursorNodes, render, shape } from "./chart.js";
import { legend } from "./drawing.js";

const [WIDTH, HEIGHT] = [900, 520];

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The figure as the text of an SVG file, with its legend and the cursor. */
function svgText(figure, cursor) {
  const { colors, margin } = figure.layout;
  const layout = { ...figure.layout, margin: { ...margin, t: margin.t + 34 } };
  const { nodes, axes } = render({ ...figure, layout }, WIDTH, HEIGHT);
  let left = margin.l;
  const entries = legend(figure.data).map(({ name, color }) => {
    const entry = shape(
      "g",
      { transform: `translate(${left} 20)` },
      shape("rect", { y: -5, width: 18, height: 5, fill: color }),
      shape("text", { x: 24, y: 2, "font-family": "sans-serif", "font-size": 12, fill: colors.ink }, name),
    );
    left += 48 + 6.4 * name.length;
    return entry;
  });
  const svg = shape(
    "svg",
    { xmlns: "http://www.w3.org/2000/svg", width: WIDTH, height: HEIGHT, viewBox: `0 0 ${WIDTH} ${HEIGHT}` },
    shape("rect", { width: WIDTH, height: HEIGHT, fill: colors.card }),
    ...entries,
    ...nodes,
    ...cursorNodes(axes, cursor, [], colors),
  );
  return new XMLSerializer().serializeToString(svg);
}

/** The SVG drawn on a canvas of twice its size. */
async function png(svg) {
  const image = new Image();
  image.src = `data:image/svg+xml,${encodeURIComponent(svg)}`;
  await image.decode();
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [2 * WIDTH, 2 * HEIGHT];
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
}

export async function picture(name, figure, cursor, format) {
  const svg = svgText(figure, cursor);
  const blob = format === "svg" ? new Blob([svg], { type: "image/svg+xml" }) : await png(svg);
  save(`onegrad-${name}.${format}`, blob);
}

const quoted = (value) =>
  /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

/** One row per plotted point: series, x, y and, if it has one, half the error bar. */
export function rows(figure) {
  const lines = [["series", "x", "y", "bar"]];
  for (const trace of figure.data)
    trace.x.forEach((x, i) => lines.push([trace.series ?? trace.name, x, trace.y[i], trace.error_y?.array?.[i] ?? ""]));
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

export function numbers(name, figure, address) {
  save(`onegrad-${name}.csv`, new Blob([`# ${address}\n`, rows(figure)], { type: "text/csv" }));
}
