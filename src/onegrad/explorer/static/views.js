// The cards: painting, cursors, and which of them is in sight.

import { CAPTIONS } from "./captions.js";
import { element } from "./controls.js";
import { legend, theme } from "./drawing.js";
import { errors, sizes } from "./errors.js";
import { learned } from "./learned.js";
import { neurons } from "./neurons.js";
import { hovering, overlay } from "./overlay.js";
import { spectrum } from "./spectrum.js";
import { stairs } from "./stairs.js";
import { SIZES } from "./state.js";
import { size, typeset } from "./words.js";

const CONFIG = { displayModeBar: false, responsive: true, doubleClick: false };
const TITLES = {
  spectrum: "Spectrum of the features",
  errors: "Errors against the step",
  learned: "What is learned",
  neurons: "The neurons of one network",
  stairs: "How slowly the stairs sharpen",
  sizes: "Errors against a size",
};
export const VIEWS = Object.keys(TITLES);
// from what is known to Plotly's data and layout
const FIGURES = { spectrum, errors, learned, neurons, stairs, sizes };

export class Views {
  /** What the cards' buttons call: `exportView(name, format)`, `setAxis(axis)`, `setAlpha(alpha)`,
   *  `setStairs(n)`, `another()` for another network; `seen(name)` when a card comes into sight. */
  constructor(main, { exportView, setAxis, setAlpha, setStairs, another, seen }) {
    this.cards = {};
    this.painted = {}; // the figure on each card
    this.hidden = new Set();
    for (const name of VIEWS) main.append(this.card(name, exportView));
    this.axisButtons = ["n", "N"].map((axis) =>
      element("button", { type: "button", onclick: () => setAxis(axis) }, `${axis}/d`),
    );
    this.cards.sizes.tools.prepend(
      element(
        "div",
        { className: "segmented", role: "group", "aria-label": "Size on the axis" },
        ...this.axisButtons,
      ),
    );
    this.sizeSlider(setStairs);
    this.cards.neurons.tools.prepend(element("button", { type: "button", id: "another", onclick: another }, "Another network"));
    this.watch(seen);
    this.clickable(setAlpha);
  }

  /** The slider of the size n at which the stairs are drawn. */
  sizeSlider(setStairs) {
    const attributes = { type: "range", id: "stairs-slider", min: 0, max: SIZES.length - 1, step: 1 };
    this.stairsSlider = element("input", { ...attributes, "aria-label": "Size n of the curve" });
    const value = element("output", { id: "stairs-size" });
    this.stairsSize = value;
    for (const [name, moving] of [["input", true], ["change", false]])
      this.stairsSlider.addEventListener(name, () => setStairs(SIZES[this.stairsSlider.value], moving));
    const row = element("label", { className: "size-row" }, "n =", value, this.stairsSlider);
    this.cards.stairs.legend.before(row);
  }

  card(name, exportView) {
    const buttons = ["PNG", "SVG", "CSV"].map((format) => {
      const onclick = () => exportView(name, format.toLowerCase());
      return element("button", { type: "button", onclick }, format);
    });
    const menu = element(
      "details",
      { className: "menu" },
      element("summary", {}, "Save"),
      element("div", {}, ...buttons),
    );
    menu.addEventListener("focusout", (event) => {
      if (!menu.contains(event.relatedTarget)) menu.open = false;
    });
    const tools = element("div", { className: "tools" }, menu);
    const caption = element("p", { className: "caption", id: `caption-${name}` });
    const legend = element("div", { className: "legend", "aria-hidden": "true" });
    const plot = element("div", {
      className: "plot",
      id: `plot-${name}`,
      role: "img",
      "aria-describedby": caption.id,
      "aria-label": TITLES[name],
    });
    const node = element(
      "section",
      { className: `view ${name}`, id: `view-${name}`, "aria-label": TITLES[name] },
      element("div", { className: "top" }, element("h2", {}, TITLES[name]), tools),
      caption,
      legend,
      plot,
    );
    hovering(plot);
    this.cards[name] = { node, caption, legend, plot, tools };
    return node;
  }

  /** A card out of sight is painted when it comes into sight. */
  watch(seen) {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const name = target.id.slice("view-".length);
          if (!isIntersecting) this.hidden.add(name);
          else if (this.hidden.delete(name) && this.model) {
            this.paint(this.model, [name]);
            seen(name);
          }
        }
      },
      { rootMargin: "200px" },
    );
    for (const name of VIEWS) observer.observe(this.cards[name].node);
  }

  /** A click on the curve of errors sets the step there. */
  clickable(setAlpha) {
    const { plot } = this.cards.errors;
    plot.addEventListener("click", (event) => {
      const axis = plot._fullLayout?.xaxis;
      if (!axis) return;
      const x = axis.p2l(event.clientX - plot.getBoundingClientRect().left - axis._offset);
      if (x >= axis.range[0] && x <= axis.range[1]) setAlpha(x.toFixed(3));
    });
  }

  /** Paint these views of the model. */
  paint(model, names = VIEWS) {
    this.model = model;
    const colors = theme();
    const narrow = innerWidth < 760;
    this.axisButtons.forEach((button, i) =>
      button.setAttribute("aria-pressed", String(model.state.axis === ["n", "N"][i])),
    );
    this.stairsSize.textContent = size(model.stairs.n);
    this.stairsSlider.value = SIZES.indexOf(model.stairs.n);
    this.say(model);
    for (const name of names) {
      if (this.hidden.has(name) || !ready(name, model)) continue;
      const figure = FIGURES[name](model, colors, narrow);
      if (figure !== null) this.draw(name, figure);
    }
    this.cursors(model);
  }

  /** The sentences follow every change, also of views whose picture need not be drawn again. */
  say(model) {
    for (const name of VIEWS) {
      const text = ready(name, model) ? CAPTIONS[name](model) : null;
      const { caption } = this.cards[name];
      if (text === null || caption.dataset.text === text) continue;
      caption.dataset.text = text;
      caption.replaceChildren(...typeset(text));
    }
  }

  draw(name, figure) {
    const { plot } = this.cards[name];
    this.painted[name] = figure;
    this.showLegend(this.cards[name].legend, legend(figure.data));
    const still = figure.data.filter((trace) => !trace.moving);
    const text = JSON.stringify([still, figure.layout]);
    if (plot.dataset.shown !== text || !plot._fullLayout) {
      const first = !plot._fullLayout;
      plot.dataset.shown = text;
      window.Plotly.react(plot, still, figure.layout, CONFIG);
      if (first) plot.on("plotly_afterplot", () => this.over(name)); // a resize, too
    }
    this.over(name);
  }

  /** What moves with the step, over Plotly's picture. */
  over(name) {
    const moving = this.painted[name].data.filter((trace) => trace.moving);
    overlay(this.cards[name].plot, moving, this.painted[name].layout.font.color);
    if (this.model) this.cursors(this.model, name);
  }

  /** An HTML legend: Plotly's own takes a third of every repaint. */
  showLegend(node, entries) {
    const text = JSON.stringify(entries);
    if (node.dataset.shown === text) return;
    node.dataset.shown = text;
    node.replaceChildren(
      ...entries.map(({ name, about, color, kind }) => {
        const swatch = element("i", { className: `swatch ${kind}` });
        swatch.style.setProperty("--color", color);
        return element("span", { title: about }, swatch, name);
      }),
    );
  }

  /** Grey out the views whose figure belongs to an earlier state. */
  age(stale) {
    for (const name of VIEWS) this.cards[name].plot.classList.toggle("stale", Boolean(stale[name]));
  }

  /** The cursors, as elements over the plots: moving them repaints nothing else. */
  cursors(model, only) {
    if (only !== "sizes") this.cursor("errors", model.alpha, model.here);
    if (only !== undefined && only !== "sizes") return;
    const { n, N, d } = model.sizesNow;
    const x = (model.state.axis === "n" ? n : N) / d;
    this.cursor("sizes", Math.log10(x), model.stale.sizes ? null : model.sizes?.at(x));
  }

  cursor(name, x, values) {
    const { plot } = this.cards[name];
    const layout = plot._fullLayout;
    if (!layout) return;
    plot.querySelectorAll(".cursor, .mark").forEach((node) => node.remove());
    const { xaxis, yaxis } = layout;
    if (x === null || x < xaxis.range[0] || x > xaxis.range[1]) return;
    const left = xaxis._offset + xaxis._length * ((x - xaxis.range[0]) / (xaxis.range[1] - xaxis.range[0]));
    const line = element("div", { className: "cursor" });
    Object.assign(line.style, {
      left: `${left - 1}px`,
      top: `${yaxis._offset}px`,
      height: `${yaxis._length}px`,
    });
    plot.append(line);
    if (!values) return;
    for (const which of ["train", "test"]) {
      const share = values[which] / yaxis.range[1];
      if (share > 1 || share < 0) continue;
      const dot = element("div", { className: `mark ${which}` });
      Object.assign(dot.style, {
        left: `${left}px`,
        top: `${yaxis._offset + yaxis._length * (1 - share)}px`,
      });
      plot.append(dot);
    }
  }
}

function ready(name, model) {
  if (name === "spectrum") return model.spectrum !== null && model.instant !== null;
  return model.instant !== null;
}
