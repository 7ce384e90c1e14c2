// The cards: painting, cursors, and which of them is in sight.

import { alternative } from "./alternatives.js";
import { CAPTIONS } from "./captions.js";
import { Chart } from "./chart.js";
import { element } from "./controls.js";
import { legend, theme } from "./drawing.js";
import { errors, sizes } from "./errors.js";
import { learned } from "./learned.js";
import { neurons } from "./neurons.js";
import { spectrum } from "./spectrum.js";
import { stairs } from "./stairs.js";
import { SIZES } from "./state.js";
import { size, typeset } from "./words.js";

const TITLES = {
  spectrum: "Spectrum of the features",
  errors: "Errors against the step",
  learned: "What is learned",
  neurons: "The neurons of one network",
  stairs: "How slowly the stairs sharpen",
  sizes: "Errors against a size",
};
export const VIEWS = Object.keys(TITLES);
// from what is known to the data and layout of a chart
const FIGURES = { spectrum, errors, learned, neurons, stairs, sizes };

export class Views {
  /** What the cards' buttons call: `exportView(name, format)`, `setAxis(axis)`, `setAlpha(alpha)`,
   *  `setStairs(n)`, `another()` for another network; `seen(name)` when a card comes into sight. */
  constructor(main, { exportView, setAxis, setAlpha, setStairs, another, seen }) {
    this.cards = {};
    this.painted = {}; // the figure on each card
    this.brief = document.body.classList.contains("embed"); // one sentence below each picture
    this.visible = new Set();
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
      legend,
      plot,
      caption,
    );
    this.cards[name] = { node, caption, legend, plot, tools, chart: new Chart(plot) };
    return node;
  }

  /** A card out of sight is neither painted nor computed. */
  watch(seen) {
    const observer = new IntersectionObserver(
      (entries) => {
        for (const { target, isIntersecting } of entries) {
          const name = target.id.slice("view-".length);
          if (!isIntersecting) this.visible.delete(name);
          else if (!this.visible.has(name)) {
            this.visible.add(name);
            if (this.model) this.paint(this.model, [name]);
            seen(name);
          }
        }
      },
      { rootMargin: "0px" },
    );
    for (const name of VIEWS) observer.observe(this.cards[name].node);
  }

  /** A click on the curve of errors sets the step there. */
  clickable(setAlpha) {
    const { plot, chart } = this.cards.errors;
    plot.addEventListener("click", (event) => {
      const axis = chart.axes?.xaxis;
      if (!axis) return;
      const x = axis.value(event.clientX - plot.getBoundingClientRect().left);
      if (x >= axis.range[0] && x <= axis.range[1]) setAlpha(x.toFixed(3));
    });
  }

  /** Paint these views of the model. */
  paint(model, names = VIEWS) {
    this.model = model;
    const colors = theme();
    const narrow = this.cards.learned.plot.clientWidth < 430 && !model.state.tour;
    this.cards.learned.plot.classList.toggle("narrow", narrow);
    this.axisButtons.forEach((button, i) =>
      button.setAttribute("aria-pressed", String(model.state.axis === ["n", "N"][i])),
    );
    this.stairsSize.textContent = size(model.stairs.n);
    this.stairsSlider.value = SIZES.indexOf(model.stairs.n);
    this.say(model);
    for (const name of names) {
      if (!this.visible.has(name) || !ready(name, model)) continue;
      const figure = FIGURES[name](model, colors, narrow);
      if (figure !== null) this.draw(name, figure);
    }
    this.cursors(model, colors);
  }

  /** The sentences follow every change, also of views whose picture need not be drawn again. */
  say(model) {
    for (const name of VIEWS) {
      const whole = ready(name, model) ? CAPTIONS[name](model) : null;
      const text = this.brief ? (whole?.split(/(?<=[.]) /)[0] ?? null) : whole;
      const { caption, plot } = this.cards[name];
      caption.classList.toggle("old", text === null);
      if (caption.dataset.text && (text === null || caption.dataset.text === text)) continue;
      caption.dataset.text = text ?? "";
      caption.replaceChildren(...typeset(text ?? "Computing …"));
      if (text !== null) plot.setAttribute("aria-label", `${TITLES[name]}. ${alternative(name, model)}`);
    }
  }

  draw(name, figure) {
    this.painted[name] = figure;
    this.showLegend(this.cards[name].legend, legend(figure.data));
    this.cards[name].chart.draw(figure);
  }

  showLegend(node, entries) {
    const text = JSON.stringify(entries);
    if (node.dataset.shown === text) return;
    node.dataset.shown = text;
    node.replaceChildren(
      ...entries.map(({ name, about, color, kind, opacity }) => {
        const swatch = element("i", { className: `swatch ${kind}` });
        swatch.style.setProperty("--color", color);
        swatch.style.opacity = opacity;
        return element("span", { title: about }, swatch, name);
      }),
    );
  }

  /** Grey out the views whose figure belongs to an earlier state. */
  age(stale) {
    for (const name of VIEWS) this.cards[name].plot.classList.toggle("stale", Boolean(stale[name]));
  }

  /** The cursors over the plots: moving them repaints nothing else. */
  cursors(model, colors) {
    const dots = (values) => (values ? ["train", "test"].map((name) => ({ y: values[name], color: colors[name] })) : []);
    const { n, N, d } = model.sizesNow;
    const x = (model.state.axis === "n" ? n : N) / d;
    this.cards.errors.chart.cursor(model.alpha, dots(model.latest));
    this.cards.sizes.chart.cursor(Math.log10(x), dots(model.stale.sizes ? null : model.sizes?.at(x)));
  }
}

function ready(name, model) {
  if (name === "spectrum") return model.spectrum !== null && model.instant !== null;
  return model.instant !== null;
}
