// Traces that move with the step are drawn over the plot here: moving them costs a millisecond,
// where Plotly would take tens. A trace is Plotly's own (lines, markers, bars), so that a saved
// picture has them all; `tip` is its tooltip and `labels` the heights of a bar's labels.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "7,5", dot: "2,4", longdash: "12,6" };

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const axisOf = (layout, letter, reference = letter) => layout[`${letter}axis${reference.slice(1)}`];

/** Draw these traces over the plot, in place of those drawn before. */
export function overlay(plot, traces, color) {
  const layout = plot._fullLayout;
  if (!layout) return;
  let svg = plot.querySelector(":scope > svg.overlay");
  if (!svg) plot.append((svg = shape("svg", { class: "overlay", "aria-hidden": "true" })));
  svg.replaceChildren(...traces.map((trace) => drawn(trace, layout, color)));
}

/** One trace, clipped to its axes. */
function drawn(trace, layout, color) {
  const xaxis = axisOf(layout, "x", trace.xaxis);
  const yaxis = axisOf(layout, "y", trace.yaxis);
  const frame = { x: xaxis._offset, y: yaxis._offset, width: xaxis._length, height: yaxis._length };
  const marks = trace.type === "bar" ? bars(trace, xaxis, yaxis, color) : scatter(trace, xaxis, yaxis);
  if (trace.tip) marks.unshift(shape("title", {}, trace.tip));
  return shape("svg", { ...frame, class: "moving" }, ...marks);
}

function scatter(trace, xaxis, yaxis) {
  const points = trace.x.map((x, i) => [xaxis.d2p(x), yaxis.d2p(trace.y[i])]);
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  const { color: stroke, width, dash } = trace.line;
  const line = { d: path, fill: "none", stroke, "stroke-width": width, "stroke-linejoin": "round" };
  const marks = [
    shape("path", { ...line, "stroke-dasharray": DASHES[dash] ?? "none", opacity: trace.opacity ?? 1 }),
  ];
  if (trace.mode.includes("text")) {
    const [x, y] = points.at(-1);
    const { color: fill, size } = trace.textfont;
    const place = { x: x - 4, y: y - 4, "text-anchor": "end", "font-size": size, fill };
    marks.push(shape("text", place, trace.text.at(-1)));
  }
  if (trace.mode.includes("markers")) {
    points.forEach(([cx, cy], i) => {
      marks.push(shape("circle", { cx, cy, r: trace.marker.size[i] / 2, fill: trace.marker.color }));
    });
  }
  return marks;
}

function bars(trace, xaxis, yaxis, color) {
  const width = 0.75 * (xaxis.l2p(1) - xaxis.l2p(0));
  return trace.x.flatMap((_, i) => {
    const [left, top] = [xaxis.l2p(i) - width / 2, yaxis.d2p(trace.y[i])]; // categories in order
    const height = Math.max(0, yaxis._length - top);
    const label = {
      x: left + width / 2,
      y: yaxis.d2p(trace.labels[i]) - 4,
      "text-anchor": "middle",
      "font-size": 10,
      fill: color,
    };
    return [
      shape("rect", { x: left, y: top, width, height, fill: trace.marker.color[i] }),
      shape("text", label, trace.text[i]),
    ];
  });
}
