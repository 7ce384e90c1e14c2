// The form of controls, drawn from the server's table.

import { AXES } from "./state.js";
import { minus, subscript, typeset, whole } from "./words.js";

export const byId = (id) => document.getElementById(id);

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name in node && name !== "list") node[name] = value;
    else node.setAttribute(name, value);
  }
  node.append(...children);
  return node;
}

/** Help button with a tip: what the control is here and in each paper. */
function helpFor(control) {
  const id = `tip-${control.name}`;
  const rows = Object.entries(control.papers).map(([paper, symbol]) =>
    element("tr", {}, element("th", { scope: "row" }, paper), element("td", {}, ...typeset(symbol))),
  );
  const tip = element(
    "span",
    { id, className: "tip", role: "tooltip" },
    ...typeset(control.help),
    element("table", {}, element("tbody", {}, ...rows)),
  );
  const button = element(
    "button",
    { type: "button", "aria-label": `About ${control.label}`, "aria-describedby": id },
    "?",
  );
  const holder = element("span", { className: "help" }, button, tip);
  holder.addEventListener("keydown", (event) => {
    if (event.key === "Escape") holder.classList.add("closed");
  });
  for (const name of ["mouseenter", "focusin"])
    holder.addEventListener(name, () => holder.classList.remove("closed"));
  return holder;
}

/** A number without the commas of its thousands, and with a point where a comma stands for it. */
export function plainNumber(text) {
  const bare = text.trim().replaceAll("−", "-");
  if (/^[+-]?[1-9]\d{0,2}([, \u00a0\u202f]\d{3})+(\.\d+)?$/.test(bare)) return bare.replace(/[, \u00a0\u202f]/g, "");
  return /^[+-]?\d*,\d+$/.test(bare) ? bare.replace(",", ".") : bare;
}

const round = (control, value) =>
  String(control.kind === "whole" ? Math.round(Number(value.toPrecision(3))) : Number(value.toPrecision(3)));

export class Controls {
  /** `set(name, value, moving)` is called when the user changes a value. */
  constructor(form, table, set) {
    this.table = Object.fromEntries(table.map((control) => [control.name, control]));
    this.set = set;
    this.inputs = {};
    this.sliders = {};
    this.expansions = {}; // of formulas, in Hermite polynomials
    this.source = null; // the input that the user is changing: it keeps its text
    this.derived = element("p", { className: "derived", id: "derived" });
    for (const group of new Set(table.map((control) => control.group))) {
      const controls = table.filter((control) => control.group === group);
      const rows = group === "step" ? [] : controls.map((control) => this.row(control));
      if (group === "step") this.step(controls);
      form.append(...(group === "sizes" ? [this.sizeSwitch(), ...rows, this.derived] : rows));
    }
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  row(control) {
    const { name } = control;
    const label = element("label", { htmlFor: name }, ...typeset(control.label));
    const input = this.input(control);
    this.listen(input, name);
    this.inputs[name] = input;
    const error = element("p", { className: "error", id: `error-${name}`, role: "alert" });
    const row = element("div", { className: "control", id: `row-${name}` });
    // the field first, then its help: whoever tabs meets the field
    if (control.kind === "text") {
      this.expansions[name] = element("p", { className: "derived", id: `expansion-${name}` });
      const field = element("div", { className: "head" }, input, helpFor(control));
      // the error above the field: what the browser suggests drops down below it
      row.append(label, error, field, this.expansions[name]);
    } else row.append(element("div", { className: "head" }, label, input, helpFor(control)), error);
    if (control.slider) row.append((this.sliders[name] = this.slider(control)));
    return row;
  }

  input(control) {
    const { name } = control;
    if (control.kind === "choice") {
      return element(
        "select",
        { id: name },
        ...control.choices.map((choice) => element("option", { value: choice }, choice)),
      );
    }
    const input = element("input", {
      id: name,
      spellcheck: false,
      autocomplete: "off",
      className: control.kind === "text" ? "formula" : "value",
      "aria-describedby": `error-${name}`,
    });
    if (control.kind === "text") {
      const list = element(
        "datalist",
        { id: `list-${name}` },
        ...control.choices.map((c) => element("option", { value: c })),
      );
      input.setAttribute("list", list.id);
      document.body.append(list);
    } else input.inputMode = "decimal";
    if (control.unset) input.placeholder = `= ${control.unset}`;
    return input;
  }

  slider(control) {
    const [low, high] = control.slider.map((end) => (control.logarithmic ? Math.log10(end) : end));
    const slider = element("input", {
      type: "range",
      min: low,
      max: high,
      step: (high - low) / 200,
      "aria-label": control.label,
      id: `${control.name}-slider`,
    });
    const value = () => round(control, control.logarithmic ? 10 ** slider.value : Number(slider.value));
    this.listen(slider, control.name, value);
    return slider;
  }

  listen(input, name, value = () => this.entered(name, input.value)) {
    const tell = (moving) => {
      this.source = input;
      this.set(name, value(), moving);
      this.source = null;
    };
    if (input.tagName === "INPUT") input.addEventListener("input", () => tell(true));
    input.addEventListener("change", () => tell(false));
  }

  /** What was typed, with 4,000 and 0,3 read as the numbers that are meant. */
  entered(name, text) {
    if (!["whole", "number"].includes(this.table[name]?.kind)) return text;
    return plainNumber(text);
  }

  /** The step's own bar above the views. */
  step(controls) {
    for (const { name } of controls) {
      this.inputs[name] = byId(name);
      this.inputs[name].setAttribute("aria-describedby", `error-${name}`);
      this.listen(this.inputs[name], name);
    }
    byId("help-alpha").append(helpFor(this.table.alpha));
    const slider = byId("alpha-slider");
    [slider.min, slider.max] = AXES.alphas;
    slider.step = AXES.alphaStep;
    this.listen(slider, "alpha");
    this.sliders.alpha = slider;
  }

  sizeSwitch() {
    const button = (text, ratios) =>
      element("button", { type: "button", onclick: () => this.set("ratios", ratios, false) }, text);
    this.switches = [button("n, d, N", false), button("n, φ, ψ", true)];
    return element(
      "div",
      { className: "segmented", role: "group", "aria-label": "Sizes as numbers or ratios" },
      ...this.switches,
    );
  }

  /** Show a state; the field that is being edited keeps its text. */
  show(state, sizes) {
    const ratios = "phi" in state || "psi" in state;
    this.switches.forEach((node, i) => node.setAttribute("aria-pressed", String(ratios === (i === 1))));
    for (const name of ["d", "N", "phi", "psi"])
      byId(`row-${name}`).hidden = !(name in state);
    for (const [name, input] of Object.entries(this.inputs)) {
      if (input !== this.source) input.value = state[name] ?? this.implied(name, sizes);
    }
    for (const [name, slider] of Object.entries(this.sliders)) {
      const text = state[name] ?? this.implied(name, sizes);
      const value = Number(text);
      if (slider !== this.source && Number.isFinite(value)) {
        slider.value = this.table[name].logarithmic ? Math.log10(value) : value;
      }
      slider.setAttribute("aria-valuetext", minus(text));
    }
    this.derive(state, sizes);
  }

  /** The sizes that follow from the others, as far as these are numbers. */
  derive(state, { n, d, N }) {
    if (![n, d, N].every((size) => size > 0 && Number.isFinite(size))) return;
    this.derived.textContent =
      "phi" in state || "psi" in state
        ? `d = ${whole(d)}, N = ${whole(N)}`
        : `φ = d/n = ${(d / n).toPrecision(3)}, ψ = d/N = ${(d / N).toPrecision(3)}`;
  }

  implied(name, sizes) {
    if (name === "alpha" && sizes.alpha !== null) return sizes.alpha.toFixed(3).replace(/\.?0+$/, "");
    if (name === "eta" && Number.isFinite(sizes.eta)) return String(Number(sizes.eta.toPrecision(4)));
    return "";
  }

  /** What the formulas are in Hermite polynomials. */
  formulas(texts) {
    for (const [name, node] of Object.entries(this.expansions)) {
      const same = texts[name].replaceAll(" ", "") === this.inputs[name].value.replaceAll(" ", "");
      const typed = texts[name].replace(/\*?H(\d+)/g, (_, degree) => ` H${subscript(degree)}`);
      node.textContent = same ? "" : `= ${typed.replaceAll(" - ", " − ").replace(/^-/, "−").trim()}`;
    }
  }

  /** Show a complaint at its field, or clear them all. */
  complain(error) {
    for (const [name, input] of Object.entries(this.inputs)) {
      const mine = error !== null && error.field === name;
      input.setAttribute("aria-invalid", String(mine));
      (input.closest(".control") ?? byId("step")).classList.toggle("invalid", mine);
      byId(`error-${name}`).replaceChildren(...(mine ? typeset(error.message) : []));
    }
  }
}
