// Numbers and notes beside the pictures: readings, thresholds under the slider, assumptions.

import { spikeCounts } from "./captions.js";
import { byId, element } from "./controls.js";
import { AXES, THEORIES } from "./state.js";
import { ordinal, reading, short, size, threshold, typeset } from "./words.js";

/** Step, spikes and errors of the present state; while a slider moves, those of a moment ago. */
export function readings(model) {
  const { latest, instant, spectrum, curve, stale, sizesNow: now } = model;
  const parts = [element("span", {}, "η = ", element("b", {}, short(now.eta)))];
  if (instant && spectrum) {
    const { here: spikes, limit, more, unless, n } = spikeCounts(model);
    const count = limit === null ? "?" : `${limit.length}${more ? " or more" : ""}`;
    const span = element("span", { className: "spikes" }, "spikes ", element("b", {}, String(spikes.length)));
    span.append(` at n = ${size(n)}, `, element("b", {}, count), " as n → ∞");
    span.title = unless ?? "The sentence above the spectrum says why they differ.";
    span.classList.toggle("old", stale.spectrum);
    parts.push(span);
  }
  if (latest) {
    for (const name of ["train", "test"]) {
      const span = element("span", { className: name }, `${name} `, element("b", {}, reading(latest[name])));
      span.classList.toggle("old", !model.here);
      parts.push(span);
    }
  } else if (!stale.curve && curve?.finished) {
    parts.push(element("span", { className: "wait" }, "no reliable number here"));
  } else parts.push(element("span", { className: "wait" }, "computing the errors …"));
  byId("readings").replaceChildren(...parts);
}

/** The thresholds as ticks under the slider of the step, with the spike that starts there. */
export function ticks({ thresholds, spikes }) {
  const [low, high] = AXES.alphas;
  const shown = JSON.stringify([thresholds, spikes.degrees]);
  if (byId("ticks").dataset.shown === shown) return;
  byId("ticks").dataset.shown = shown;
  const marks = thresholds.slice(0, 5).map((x, i) => {
    const degree = i + 1;
    const exists = spikes.degrees.includes(degree);
    const name = `${ordinal(degree)} spike${exists ? "" : `: this activation has none`}`;
    const tick = element("span", { title: name, className: exists ? "" : "absent" }, threshold(x));
    if (i < 2) tick.append(element("small", {}, ` ${ordinal(degree)}`));
    tick.style.left = `${(100 * (x - low)) / (high - low)}%`;
    return tick;
  });
  byId("ticks").replaceChildren(...marks);
}

/** What the theories assume and this setting does not meet. */
export function notes({ instant, here, curve }) {
  if (!instant) return;
  const messages = [
    ...instant.notes,
    ...THEORIES.map(({ key }) => instant[key].unavailable),
    ...(here?.notes ?? []),
    curve?.complaint,
  ].filter(Boolean);
  const text = [...new Set(messages)];
  if (byId("notes").dataset.shown === text.join("\n")) return;
  byId("notes").dataset.shown = text.join("\n");
  byId("notes").replaceChildren(...text.map((note) => element("li", {}, ...typeset(note))));
}
