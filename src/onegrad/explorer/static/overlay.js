// Traces that move with the step are drawn over the plot here: moving them costs a millisecond,
// where Plotly would take tens. A trace is Plotly's own (lines, markers, bars), so that a saved
// picture has them all; `tip` is what is said when the mouse is on it and `labels` the heights of a
// bar's labels.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "7,5", dot: "2,4", dashdot: "7,4,2,4", longdash: "12,6" };

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

/** What is said at the mouse, for every trace with a tip. */
export function hovering(plot) {
  const bubble = document.createElement("div");
  bubble.className = "bubble";
  bubble.hidden = true;
  plot.append(bubble);
  plot.addEventListener("mousemove", (event) => {
    const text = event.target.closest?.("[data-tip]")?.dataset.tip;
    bubble.hidden = !text;
    if (!text) return;
    bubble.textContent = text;
    const box = plot.getBoundingClientRect();
    const left = event.clientX - box.left;
    bubble.style.left = `${Math.min(left + 12, box.width - bubble.offsetWidth - 4)}px`;
    bubble.style.top = `${Math.max(0, event.clientY - box.top - bubble.offsetHeight - 8)}px`;
  });
  plot.addEventListener("mouseleave", () => (bubble.hidden = true));
}

/** One trace, clipped to its axes. */
function drawn(trace, layout, color) {
  const xaxis = axisOf(layout, "x", trace.xaxis);
  const yaxis = axisOf(layout, "y", trace.yaxis);
  const frame = { x: xaxis._offset, y: yaxis._offset, width: xaxis._length, height: yaxis._length };
  const marks = trace.type === "bar" ? bars(trace, xaxis, yaxis, color) : scatter(trace, xaxis, yaxis);
  const tip = trace.tip ? { "data-tip": trace.tip } : {};
  return shape("svg", { ...frame, class: "moving", ...tip }, ...marks);
}

const place = ([x, y]) => `${x.toFixed(1)},${y.toFixed(1)}`;

function scatter(trace, xaxis, yaxis) {
  const points = trace.x.map((x, i) => (x === null ? null : [xaxis.d2p(x), yaxis.d2p(trace.y[i])]));
  if (trace.mode === "markers") return [dots(trace.marker, points)];
  const path = points.map((p, i) => (p ? `${i && points[i - 1] ? "L" : "M"}${place(p)}` : "")).join("");
  const { color: stroke, width, dash } = trace.line;
  const line = { d: path, stroke, "stroke-width": width, "stroke-linejoin": "round" };
  const dashes = { "stroke-dasharray": DASHES[dash] ?? "none", opacity: trace.opacity ?? 1 };
  const marks = [shape("path", { ...line, ...dashes, fill: trace.fillcolor ?? "none" })];
  // a thin line is hard to hit
  if (trace.tip) marks.push(shape("path", { ...line, stroke: "transparent", "stroke-width": 14, fill: "none" }));
  if (trace.mode.includes("markers")) {
    points.forEach(([cx, cy], i) => {
      marks.push(shape("circle", { cx, cy, r: trace.marker.size[i] / 2, fill: trace.marker.color }));
    });
  }
  return marks;
}

/** All markers as one path: a stroke of no length with round ends is a dot. */
function dots({ color, size, opacity }, points) {
  const path = points.map((p) => `M${place(p)}h0`).join("");
  const stroke = { stroke: color, "stroke-width": size, "stroke-linecap": "round", opacity };
  return shape("path", { d: path, fill: "none", ...stroke });
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
