// Charts as SVG: axes, lines, markers, bars, a cursor, and what is said at the mouse.
//
// A figure is { data, layout }. A trace of `data` has x, y and `mode` (lines, markers, both) or
// type "bar"; `line` (color, width, dash), `marker` (color, size, symbol, line), `fill` ("tozeroy":
// down to zero, "toself": a closed outline), `error_y.array` (half bars), `opacity`. `series` names
// it at the mouse and in saved numbers; `tip` replaces that by one text for the whole trace.
// `layout` has margins, axes (title, type linear, log or category, range, tickvals, ticktext,
// domain), `verticals` and `labels` above the plot.

const SVG = "http://www.w3.org/2000/svg";
const DASHES = { dash: "7,5", dot: "2,4", dashdot: "7,4,2,4", longdash: "12,6" };
const FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif";
const REACH = 26; // pixels from the mouse to the point that it means

export function shape(tag, attributes = {}, ...children) {
  const node = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) node.setAttribute(name, value);
  node.append(...children);
  return node;
}

const at = (x) => x.toFixed(1);

// -- axes ------------------------------------------------------------------------------------

/** The axis on `length` pixels from `start`: `place(value)` in pixels and back. */
function scale(axis, start, length, upwards) {
  const { type, range, categories } = axis;
  const [low, high] = type === "category" ? [-0.5, categories.length - 0.5] : range;
  const inner = { log: Math.log10, category: (x) => categories.indexOf(x) }[type] ?? Number;
  const share = (value) => (inner(value) - low) / (high - low);
  return {
    ...axis,
    start,
    length,
    end: start + length,
    place: (value) => start + length * (upwards ? 1 - share(value) : share(value)),
    value: (pixel) => low + ((pixel - start) / length) * (high - low), // in the units of the range
  };
}

/** Round numbers between the ends, about one every 55 pixels. */
function roundTicks([low, high], length) {
  const rough = (high - low) / Math.max(2, Math.round(length / 55));
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = unit * [1, 2, 5, 10].find((s) => s * unit >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const count = Math.floor(high / step + 1e-9) - Math.ceil(low / step - 1e-9) + 1;
  const values = Array.from({ length: count }, (_, i) => (Math.ceil(low / step - 1e-9) + i) * step);
  return values.map((value) => [value, value.toFixed(digits).replace(/^-(0(\.0*)?)$/, "$1").replace("-", "−")]);
}

function ticksOf({ type, range, length, tickvals, ticktext, categories }) {
  if (tickvals) return tickvals.map((value, i) => [value, ticktext[i]]);
  if (type === "category") return categories.map((name) => [name, name]);
  if (type !== "log") return roundTicks(range, length);
  const powers = Array.from({ length: 24 }, (_, i) => i - 12).filter((k) => k >= range[0] && k <= range[1]);
  return powers.map((k) => [10 ** k, k < -4 || k > 4 ? `1e${k}` : String(Number((10 ** k).toPrecision(1)))]);
}

/** The ticks 2, 3, … 9 of every decade. */
function minorTicks({ range }) {
  const decades = Array.from({ length: Math.ceil(range[1]) - Math.floor(range[0]) }, (_, i) => 10 ** (Math.floor(range[0]) + i));
  const values = decades.flatMap((decade) => [2, 3, 4, 5, 6, 7, 8, 9].map((k) => k * decade));
  return values.filter((value) => Math.log10(value) > range[0] && Math.log10(value) < range[1]);
}

/** A text with <sub> and <sup> as spans of SVG. */
function words(text, attributes) {
  const node = shape("text", attributes);
  let shift = 0;
  for (const [, tag, low, plain] of text.matchAll(/<(su[bp])>(.*?)<\/su[bp]>|([^<]+)/g)) {
    const wanted = tag === "sub" ? 3 : tag === "sup" ? -4 : 0;
    const span = { dy: wanted - shift || undefined, "font-size": tag ? "80%" : undefined };
    node.append(shape("tspan", span, tag ? low : plain));
    shift = wanted;
  }
  return node;
}

function horizontal(axis, y, colors) {
  const nodes = [shape("path", { d: `M${at(axis.start)},${at(y.end)}H${at(axis.end)}`, stroke: colors.axis })];
  for (const [value, text] of ticksOf(axis)) {
    const x = axis.place(value);
    if (!(x >= axis.start - 0.5 && x <= axis.end + 0.5)) continue;
    if (axis.grid !== false) nodes.push(shape("path", { d: `M${at(x)},${at(y.start)}V${at(y.end)}`, stroke: colors.line }));
    nodes.push(words(text, { x: at(x), y: at(y.end + 16), "text-anchor": "middle", class: "xtick" }));
  }
  if (axis.type === "log" && !axis.tickvals)
    for (const value of minorTicks(axis))
      nodes.push(shape("path", { d: `M${at(axis.place(value))},${at(y.end)}v4`, stroke: colors.axis }));
  if (axis.title)
    nodes.push(words(axis.title, { x: at((axis.start + axis.end) / 2), y: at(y.end + 35), "text-anchor": "middle" }));
  return nodes;
}

function upright(axis, x, colors) {
  const right = axis.side === "right";
  const edge = right ? x.end : x.start;
  const nodes = [];
  for (const [value, text] of axis.ticks === false ? [] : ticksOf(axis)) {
    const y = axis.place(value);
    if (!(y >= axis.start - 0.5 && y <= axis.end + 0.5)) continue;
    if (axis.grid !== false) nodes.push(shape("path", { d: `M${at(x.start)},${at(y)}H${at(x.end)}`, stroke: colors.line }));
    const place = { x: at(edge + (right ? 7 : -7)), y: at(y + 4), "text-anchor": right ? "start" : "end" };
    nodes.push(words(text, { ...place, class: "ytick", fill: axis.color }));
  }
  if (axis.title) {
    const [left, middle] = [edge + (right ? axis.titleAt ?? 50 : -(axis.titleAt ?? 40)), (axis.start + axis.end) / 2];
    const turn = `rotate(${right ? 90 : -90} ${at(left)} ${at(middle)})`;
    nodes.push(words(axis.title, { x: at(left), y: at(middle + 4), "text-anchor": "middle", transform: turn, fill: axis.color }));
  }
  return nodes;
}

// -- traces ----------------------------------------------------------------------------------

const pair = ([x, y]) => `${at(x)},${at(y)}`;

function path(points, closed) {
  const d = points.map((p, i) => (p ? `${i && points[i - 1] ? "L" : "M"}${pair(p)}` : "")).join("");
  return closed && d ? `${d}Z` : d;
}

function scatter(trace, points, y) {
  const nodes = [];
  const { mode = "lines", line = {}, marker, fill } = trace;
  if (fill && points.length) {
    const down = fill === "tozeroy" ? [[points.at(-1)[0], y.end], [points[0][0], y.end]] : [];
    nodes.push(shape("path", { d: path([...points, ...down], true), fill: trace.fillcolor, "fill-opacity": trace.fillopacity, stroke: "none" }));
  }
  if (mode.includes("lines") && (line.width ?? 1) > 0) {
    const d = path(points, false);
    const stroke = { d, stroke: line.color, "stroke-width": line.width, "stroke-linejoin": "round", fill: "none" };
    nodes.push(shape("path", { ...stroke, "stroke-dasharray": DASHES[line.dash] }));
    // a thin line is hard to hit
    if (trace.tip) nodes.push(shape("path", { d, stroke: "transparent", "stroke-width": 14, fill: "none" }));
  }
  const bars = (trace.error_y?.array ?? []).map((half, i) => {
    if (!half || !points[i]) return "";
    const [top, bottom] = [trace.y[i] + half, trace.y[i] - half].map((value) => at(Math.min(1e4, Math.max(-1e4, y.place(value)))));
    return `M${at(points[i][0])},${top}V${bottom}m-3,0h6M${at(points[i][0] - 3)},${top}h6`;
  });
  if (bars.join("")) nodes.push(shape("path", { d: bars.join(""), stroke: trace.error_y.color, "stroke-width": 1.5, class: "errorbar" }));
  if (mode.includes("markers")) nodes.push(...markers(marker, points, mode !== "markers"));
  return nodes;
}

function markers({ color, size, symbol = "circle", line }, points, few) {
  const outline = line ? { stroke: line.color, "stroke-width": line.width } : {};
  if (!few && !line) {
    // all as one path: a stroke of no length with round ends is a dot
    const d = points.filter(Boolean).map((p) => `M${pair(p)}h0`).join("");
    return [shape("path", { d, fill: "none", stroke: color, "stroke-width": size, "stroke-linecap": "round" })];
  }
  return points.flatMap((p, i) => {
    const r = (Array.isArray(size) ? size[i] : size) / 2;
    if (!p || !r) return [];
    if (symbol === "circle") return [shape("circle", { class: "point", cx: at(p[0]), cy: at(p[1]), r, fill: color, ...outline })];
    if (symbol === "square") return [shape("rect", { class: "point", x: at(p[0] - r), y: at(p[1] - r), width: 2 * r, height: 2 * r, fill: color, ...outline })];
    const corners = symbol === "star" ? star(p, r) : [[p[0] - r, p[1] - r], [p[0] + r, p[1] - r], [p[0], p[1] + r]];
    return [shape("path", { class: "point", d: path(corners, true), fill: color, ...outline })];
  });
}

function star([x, y], r) {
  return Array.from({ length: 10 }, (_, i) => {
    const [angle, reach] = [(Math.PI * i) / 5, i % 2 ? 0.45 * r : r];
    return [x + reach * Math.sin(angle), y - reach * Math.cos(angle)];
  });
}

function bars(trace, x, y, ink) {
  const width = (0.75 * x.length) / x.categories.length;
  const color = (i) => (Array.isArray(trace.marker.color) ? trace.marker.color[i] : trace.marker.color);
  return trace.x.flatMap((name, i) => {
    const [middle, top] = [x.place(name), y.place(trace.y[i])];
    const box = { x: at(middle - width / 2), y: at(top), width: at(width), height: at(Math.max(0, y.end - top)) };
    const { line } = trace.marker;
    const label = { x: at(middle), y: at(y.place(trace.labels?.[i] ?? 0) - 4), "text-anchor": "middle", "font-size": 11, fill: ink };
    return [
      shape("rect", { ...box, fill: color(i), stroke: line?.color, "stroke-width": line?.width }),
      ...(trace.text?.[i] ? [shape("text", label, trace.text[i])] : []),
    ];
  });
}

// -- a whole figure --------------------------------------------------------------------------

let clips = 0;

/** The figure in these pixels: its nodes, its axes, and the points that can be pointed at. */
export function render({ data, layout }, width, height) {
  const { colors, margin } = layout;
  const [inner, tall] = [Math.max(1, width - margin.l - margin.r), Math.max(1, height - margin.t - margin.b)];
  const axes = {};
  for (const [name, axis] of Object.entries(layout)) {
    const [, letter] = /^([xy])axis\d?$/.exec(name) ?? [];
    const [from, to] = axis?.domain ?? [0, 1];
    if (letter === "x") axes[name] = scale(axis, margin.l + from * inner, (to - from) * inner, false);
    if (letter === "y") axes[name] = scale(axis, margin.t + (1 - to) * tall, (to - from) * tall, true);
  }
  const xOf = (axis) => axes[`xaxis${axis?.slice(1) ?? ""}`] ?? axes.xaxis;
  const yOf = (axis) => axes[`yaxis${axis?.slice(1) ?? ""}`];
  const back = [];
  for (const { x, color, dash, width: w = 1 } of layout.verticals ?? [])
    back.push(shape("path", { d: `M${at(axes.xaxis.place(x))},${at(axes.yaxis.start)}V${at(axes.yaxis.end)}`, stroke: color, "stroke-width": w, "stroke-dasharray": DASHES[dash] }));
  const apart = ({ x }, i, labels) => !i || axes.xaxis.place(x) - axes.xaxis.place(labels[i - 1].x) > 11;
  for (const { x, text, color, anchor = "middle" } of (layout.labels ?? []).filter(apart))
    back.push(words(text, { x: at(axes.xaxis.place(x)), y: at(margin.t - 6), fill: color, "font-size": 11, "text-anchor": anchor, class: "label" }));
  const frames = [];
  for (const name of Object.keys(axes)) {
    if (name.startsWith("x")) frames.push(...horizontal(axes[name], yOf(name.replace("xaxis", "y")) ?? axes.yaxis, colors));
    else frames.push(...upright(axes[name], axes[name.replace("y", "x")] ?? axes.xaxis, colors));
  }
  const points = [];
  const drawn = data.map((trace) => {
    const [x, y] = [xOf(trace.xaxis), yOf(trace.yaxis)];
    const places = trace.x.map((value, i) => (value === null || trace.y[i] === null ? null : [x.place(value), y.place(trace.y[i])]));
    if (trace.series && !trace.tip) places.forEach((place, i) => place && points.push({ place, trace, i }));
    const nodes = trace.type === "bar" ? bars(trace, x, y, colors.ink) : scatter(trace, places, y);
    const clip = trace.unclipped ? undefined : `inset-${(clips += 1)}`;
    const box = { x: x.start - 1, y: y.start - 14 * (trace.type === "bar"), width: x.length + 2, height: y.length + 14 * (trace.type === "bar") + 1 };
    if (clip) nodes.unshift(shape("clipPath", { id: clip }, shape("rect", box)));
    return shape("g", { class: "trace", opacity: trace.opacity, "data-tip": trace.tip, "clip-path": clip && `url(#${clip})` }, ...nodes);
  });
  const text = { "font-family": FONT, "font-size": 12, fill: colors.ink };
  return { nodes: [shape("g", text, ...frames, ...back, ...drawn)], axes, points };
}

const number = (x) => ((Math.abs(x) >= 1e-3 && Math.abs(x) < 1e5) || x === 0 ? x.toFixed(4) : x.toPrecision(3)).replaceAll("-", "−");

export class Chart {
  constructor(node) {
    this.node = node;
    this.svg = shape("svg", { class: "chart", "aria-hidden": "true" });
    this.bubble = document.createElement("div");
    this.bubble.className = "bubble";
    this.bubble.hidden = true;
    node.append(this.svg, this.bubble);
    node.addEventListener("mousemove", (event) => this.hover(event));
    node.addEventListener("mouseleave", () => (this.bubble.hidden = true));
    new ResizeObserver(() => this.redraw()).observe(node);
  }

  draw(figure) {
    this.figure = figure;
    this.redraw();
  }

  redraw() {
    const { clientWidth: width, clientHeight: height } = this.node;
    if (!this.figure || !width) return;
    const { nodes, axes, points } = render(this.figure, width, height);
    Object.assign(this, { axes, points });
    this.moving = shape("g", { class: "cursor-layer" });
    this.svg.replaceChildren(...nodes, this.moving);
    if (this.cursorAt) this.cursor(...this.cursorAt);
  }

  /** A line at x, in the units of the axis' range, with a dot of each colour at its height. */
  cursor(x, dots = []) {
    this.cursorAt = [x, dots];
    if (!this.axes) return;
    this.moving.replaceChildren(...cursorNodes(this.axes, x, dots, this.figure.layout.colors));
  }

  hover(event) {
    const box = this.node.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const text = event.target.closest?.("[data-tip]")?.dataset.tip ?? this.textAt(x, y);
    this.bubble.hidden = !text;
    if (!text) return;
    this.bubble.textContent = text;
    this.bubble.style.left = `${Math.max(0, Math.min(x + 12, box.width - this.bubble.offsetWidth - 4))}px`;
    this.bubble.style.top = `${Math.max(0, y - this.bubble.offsetHeight - 8)}px`;
  }

  /** What the nearest point is. */
  textAt(x, y) {
    const away = ({ place }) => Math.hypot(place[0] - x, place[1] - y);
    const nearest = (this.points ?? []).reduce((p, q) => (p === null || away(q) <= away(p) ? q : p), null);
    if (!nearest || away(nearest) > REACH) return null;
    const { trace, i } = nearest;
    const half = trace.error_y?.array?.[i];
    return `${trace.series}: ${number(trace.y[i])}${half ? ` ± ${number(half)}` : ""}`;
  }
}

/** The cursor's line and dots; nothing where it lies off the axis. */
export function cursorNodes({ xaxis, yaxis }, x, dots, colors) {
  const [low, high] = xaxis.range;
  if (x === null || !(x >= low && x <= high)) return [];
  const left = xaxis.start + (xaxis.length * (x - low)) / (high - low);
  const line = shape("path", { class: "cursor", d: `M${at(left)},${at(yaxis.start)}V${at(yaxis.end)}`, stroke: colors.ink, "stroke-width": 2, opacity: 0.75 });
  const seen = dots.filter(({ y }) => y >= yaxis.range[0] && y <= yaxis.range[1]);
  return [line, ...seen.map(({ y, color }) => shape("circle", { class: "mark", cx: at(left), cy: at(yaxis.place(y)), r: 5.5, fill: color, stroke: colors.card, "stroke-width": 2 }))];
}
