// The band around a theory's curve in which the mean over many networks is expected, 95 %.

/** One filled outline for each error: out along the top, back along the bottom. */
export function bands(curve, stale, colors) {
  const points = (curve?.sorted ?? []).filter((p) => Number.isFinite(p.test_accuracy));
  if (points.length < 3) return [];
  return ["test", "train"].map((name) => {
    const half = (p) => p[name] * p[`${name}_accuracy`];
    const back = [...points].reverse();
    return {
      x: [...points, ...back].map((p) => p.x),
      y: [...points.map((p) => p[name] + half(p)), ...back.map((p) => p[name] - half(p))],
      name: `${name}, accuracy`,
      fill: "toself",
      fillcolor: colors[name],
      opacity: stale ? 0.06 : 0.18,
      line: { width: 0 },
      showlegend: false,
    };
  });
}
