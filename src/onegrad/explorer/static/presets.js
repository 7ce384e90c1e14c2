// The presets: settings of the literature, each with one sentence on what to look at.

import { element } from "./controls.js";
import { query, read } from "./state.js";

export class Presets {
  /** `choose(preset)` is called when one is clicked. */
  constructor(nav, presets, choose) {
    this.buttons = presets.map((preset) => {
      const words = [element("b", {}, preset.name), element("span", {}, preset.title)];
      const button = element("button", { type: "button", title: preset.title, onclick: () => choose(preset) }, ...words);
      return { button, query: query(read(preset.query, {})) };
    });
    nav.append(...this.buttons.map(({ button }) => button));
  }

  /** Press the one that this state is. */
  show(state) {
    for (const { button, query: own } of this.buttons)
      button.setAttribute("aria-pressed", String(own === query(state)));
  }
}
