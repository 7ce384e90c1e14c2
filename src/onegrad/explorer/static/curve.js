// A curve that is refined as its points come, and read between them.

/** Points of a curve by place; null where it could not be computed. */
export class Curve {
  constructor() {
    this.points = new Map();
    this.finished = false;
  }

  add(points) {
    for (const point of points) {
      if (point.finished) this.finished = true;
      else this.points.set(point.x, point);
    }
    this.sorted = [...this.points.values()]
      .filter((p) => !p.unavailable)
      .sort((p, q) => p.x - q.x);
    this.complaint = [...this.points.values()].find((p) => p.unavailable)?.unavailable;
  }

  get length() {
    return this.sorted?.length ?? 0;
  }

  /** The point at x, between its neighbours; null outside or before two are known. */
  at(x) {
    const points = this.sorted ?? [];
    const after = points.findIndex((p) => p.x >= x);
    if (after < 0) return null;
    if (points[after].x === x) return points[after];
    if (after === 0) return null;
    return blend(points.slice(Math.max(0, after - 2), after + 2), x);
  }
}

/** Every number of these points at x, by the polynomial through them. */
function blend(points, x) {
  const weights = points.map((p, i) =>
    points.reduce((w, q, j) => (i === j ? w : (w * (x - q.x)) / (p.x - q.x)), 1),
  );
  const nearest = points.reduce((p, q) => (Math.abs(q.x - x) < Math.abs(p.x - x) ? q : p));
  const mixed = (values, same) => {
    if (values.every((v) => typeof v === "number")) return values.reduce((s, v, i) => s + weights[i] * v, 0);
    if (values.every((v) => Array.isArray(v) && v.length === same.length && typeof v[0] === "number"))
      return same.map((_, k) => values.reduce((s, v, i) => s + weights[i] * v[k], 0));
    if (values.every((v) => v && typeof v === "object" && !Array.isArray(v)))
      return Object.fromEntries(Object.keys(same).map((k) => [k, mixed(values.map((v) => v[k]), same[k])]));
    return same;
  };
  return mixed(points, nearest);
}
