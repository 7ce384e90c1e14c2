// The four figures: from what is known to Plotly's data and layout, and a caption in words.

export { legend, short, theme } from "./drawing.js";
export { errors, sizes, thresholdName } from "./errors.js";
export { learned } from "./learned.js";
export { spectrum } from "./spectrum.js";
