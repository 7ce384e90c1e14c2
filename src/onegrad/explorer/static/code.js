// Recompute: the Python lines and the command that give the numbers of a view.

import { byId, element } from "./controls.js";
import { ask } from "./http.js";
import { query } from "./state.js";
import { VIEWS } from "./views.js";

export class Code {
  /** `state()` is the present state of the page. */
  constructor(state) {
    this.state = state;
    this.view = "errors";
    for (const view of VIEWS) byId("code-views").append(this.button(view));
    for (const button of document.querySelectorAll(".copy")) copies(button);
    this.visible = false;
    const observer = new IntersectionObserver(([{ isIntersecting }]) => {
      this.visible = isIntersecting;
      this.show();
    });
    observer.observe(byId("code-views"));
  }

  button(view) {
    const onclick = ({ target }) => {
      this.view = view;
      for (const button of byId("code-views").children)
        button.setAttribute("aria-pressed", String(button === target));
      this.show();
    };
    const pressed = String(view === this.view);
    return element("button", { type: "button", "aria-pressed": pressed, onclick }, view);
  }

  /** Show the code of the present state, once the panel is in sight. */
  async show() {
    if (!this.visible) return;
    const state = this.state();
    try {
      const answer = await ask("/api/code", `${query(state)}&view=${this.view}&axis=${state.axis}`);
      byId("code-python").textContent = answer.python;
      byId("code-command").textContent = answer.command;
    } catch {
      // the field that is wrong says so; the last good code stays
    }
  }
}

function copies(button) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(byId(button.dataset.copy).textContent);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1200);
  });
}
