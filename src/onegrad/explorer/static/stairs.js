// How slowly the stairs sharpen: the test error against the step at other sizes n.

import { frame } from "./drawing.js";
import { limitLines, round, thresholdMarks } from "./errors.js";
import { AXES, THEORIES } from "./state.js";
import { size } from "./words.js";

export function stairs(model, colors) {
  const { instant, stairs: shown } = model;
  const line = (n, curve, chosen) => ({
    x: curve?.sorted?.map((p) => p.x) ?? [],
    y: curve?.sorted?.map((p) => p.test) ?? [],
    name: `n = ${size(n)}`,
    series: `test, n = ${size(n)}`,
    line: { color: chosen ? colors.test : colors.muted, width: chosen ? 3 : 1.2 },
    opacity: chosen ? 1 : 0.8,
  });
  const theory = THEORIES.find(({ key }) => key === "staircase");
  const [staircase] = limitLines(theory, instant.staircase, colors);
  const others = shown.others.filter(([n]) => n !== shown.n);
  const data = [
    ...others.map(([n, curve]) => line(n, curve, false)),
    line(shown.n, shown.curve, true),
    { ...staircase, name: "n → ∞", tip: "test, staircase: the limit n → ∞", line: { ...staircase.line, width: 2 } },
  ];
  const values = [instant.untrained.test, ...data.flatMap((trace) => trace.y)].filter(Number.isFinite);
  return {
    data,
    layout: frame(colors, {
      xaxis: { title: "step exponent α (η = n<sup>α</sup>)", range: AXES.alphas },
      yaxis: { title: "test error", range: [0, round(1.05 * Math.max(...values))] },
      margin: { l: 52, r: 14, t: 22, b: 42 },
      ...thresholdMarks(instant, colors),
    }),
  };
}
