// Play: the step exponent moves by itself until it arrives or a control is touched.

import { AXES } from "./state.js";

const SECONDS = 9; // for the whole slider

export class Play {
  /** `move(alpha, moving)` sets the step. */
  constructor(button, move) {
    this.button = button;
    this.move = move;
    this.frame = null;
    this.label();
    for (const name of ["pointerdown", "keydown", "wheel"])
      addEventListener(name, (event) => !this.keeps(event.target) && this.stop(), { passive: true, capture: true });
  }

  get playing() {
    return this.frame !== null;
  }

  /** Controls that start or stop it themselves. */
  keeps(target) {
    return Boolean(target?.closest?.("[data-play]"));
  }

  label() {
    this.button.textContent = this.playing ? "❚❚" : "▶";
    this.button.setAttribute("aria-label", this.playing ? "Pause" : "Play: let α grow");
    this.button.setAttribute("aria-pressed", String(this.playing));
  }

  /** From where it is (from the start, where it is at the end) to the end. */
  toggle(alpha) {
    if (this.playing) return this.stop();
    const [low, high] = AXES.alphas;
    return this.run(alpha === null || alpha < low || alpha > high - AXES.alphaStep ? low : alpha, high);
  }

  run(from, to) {
    this.stop();
    const { alphas: [low, high], alphaStep } = AXES;
    const pace = ((high - low) / SECONDS / 1000) * Math.sign(to - from);
    const began = performance.now();
    let last = null;
    const tick = (now) => {
      const here = from + pace * (now - began);
      const over = (to - here) * pace <= 0;
      const alpha = over ? to : Math.round(here / alphaStep) * alphaStep;
      this.frame = over ? null : requestAnimationFrame(tick);
      if (alpha !== last) this.move(String(Number(alpha.toFixed(3))), !over);
      last = alpha;
      if (over) this.label();
    };
    this.frame = requestAnimationFrame(tick);
    this.label();
  }

  stop() {
    if (!this.playing) return;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.label();
  }
}
