// What is said in words beside the pictures: readings, thresholds under the slider, notes.

import { byId, element } from "./controls.js";
import { short } from "./drawing.js";
import { thresholdName } from "./errors.js";

/** Step, spikes and errors of the present state. */
export function readings({ alpha, here, instant, sizesNow: now }) {
  const parts = [];
  const add = (className, label, value) =>
    parts.push(element("span", { className }, `${label} `, element("b", {}, value)));
  add("", "η =", short(now.eta));
  if (instant && alpha !== null) {
    const count = instant.thresholds.filter((x) => x < alpha).length;
    add("", "asymptotic spikes ℓ =", count > 4 ? "≥ 5" : String(count));
  }
  if (here) {
    add("train", "train", here.train.toFixed(4));
    add("test", "test", here.test.toFixed(4));
  } else parts.push(element("span", { className: "wait" }, "computing the errors …"));
  byId("readings").replaceChildren(...parts);
}

/** The thresholds as ticks under the slider of the step. */
export function ticks({ alphas: [low, high], thresholds }) {
  const marks = thresholds.map((x, i) => {
    const tick = element("span", { title: `threshold of spike ${i + 1}` }, thresholdName(x));
    tick.style.left = `${(100 * (x - low)) / (high - low)}%`;
    return tick;
  });
  byId("ticks").replaceChildren(...marks);
}

/** What the theories assume and this setting does not meet. */
export function notes({ instant, here, curve }) {
  if (!instant) return;
  const { staircase, small_step: smallStep } = instant;
  const found = [
    ...instant.notes,
    staircase.unavailable,
    smallStep.unavailable,
    ...(here?.notes ?? []),
    curve?.complaint,
  ].filter(Boolean);
  const text = [...new Set(found)];
  if (byId("notes").dataset.shown === text.join("\n")) return;
  byId("notes").dataset.shown = text.join("\n");
  byId("notes").replaceChildren(...text.map((note) => element("li", {}, note)));
}
