// Milliseconds from a change to the repaint that shows it; read by benchmarks.

export const latencies = { number: [], spectrum: [] };
const began = { number: new Map(), spectrum: new Map() };

/** A slider asks for the picture `key` of a view. */
export function changed(view, key) {
  if (began[view].size > 500) began[view].clear();
  began[view].set(key, performance.now());
}

/** The picture `key` has been painted: the time runs until the next frame. */
export function painted(view, key) {
  const start = began[view].get(key);
  if (start === undefined) return;
  began[view].delete(key);
  requestAnimationFrame(() => latencies[view].push(performance.now() - start));
}
