// The neurons of one real network: overlap with the teacher and readout, before and after the step.

import { frame } from "./drawing.js";

const REACHES = [0.15, 0.3, 0.5, 0.75, 1]; // of the axis: it stays while the step moves a little

export function neurons(model, colors) {
  const { network } = model;
  const drawn = network?.neurons ?? { readout: [], before: [], after: [] };
  const widest = Math.max(0, ...[...drawn.before, ...drawn.after].map(Math.abs));
  const reach = REACHES.find((r) => r >= widest) ?? 1;
  const cloud = (name, color, opacity) => ({
    x: drawn[name],
    y: drawn.readout,
    mode: "markers",
    name: `${name} the step`,
    marker: { color, size: 5 },
    opacity,
  });
  const top = Math.max(2.5, 1.15 * Math.max(0, ...drawn.readout.map(Math.abs)));
  return {
    data: [
      cloud("before", colors.degrees[0], 0.5),
      cloud("after", colors.degrees[2], 0.75),
    ],
    layout: frame(colors, {
      xaxis: { title: "overlap of a neuron with the teacher, w·β<sub>⋆</sub>/|w|", range: [-reach, reach] },
      yaxis: { title: "its readout, √N a", range: [-Math.ceil(top), Math.ceil(top)] },
    }),
  };
}
