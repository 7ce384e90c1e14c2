// Saving a view: picture or numbers.

import { vertical } from "./drawing.js";

function save(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

/** The figure on white, with the cursor that the page draws as an element. */
function forPaper(figure, cursor) {
  const layout = structuredClone(figure.layout);
  layout.paper_bgcolor = layout.plot_bgcolor = getComputedStyle(document.documentElement)
    .getPropertyValue("--card")
    .trim();
  layout.showlegend = true;
  layout.margin.t = 40;
  if (cursor !== null) {
    const line = vertical(cursor, layout.font.color, { width: 2, dash: "solid" });
    layout.shapes = [...(layout.shapes ?? []), { ...line, layer: "above" }];
  }
  return { data: structuredClone(figure.data), layout };
}

export async function picture(name, figure, cursor, format) {
  const options = { format, width: 900, height: 520, scale: format === "png" ? 2 : 1 };
  const url = await window.Plotly.toImage(forPaper(figure, cursor), options);
  const blob =
    format === "svg"
      ? new Blob([decodeURIComponent(url.slice(url.indexOf(",") + 1))], { type: "image/svg+xml" })
      : new Blob([Uint8Array.from(atob(url.slice(url.indexOf(",") + 1)), (c) => c.charCodeAt(0))], {
          type: "image/png",
        });
  save(`onegrad-${name}.${format}`, blob);
}

const quoted = (value) =>
  /[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value ?? "");

/** One row per plotted point: series, x, y and, if it has one, half the error bar. */
export function rows(figure) {
  const lines = [["series", "x", "y", "bar"]];
  for (const trace of figure.data) {
    const series = /<extra>([^<]+)<\/extra>/.exec(trace.hovertemplate ?? "")?.[1] ?? trace.name ?? "";
    (trace.x ?? []).forEach((x, i) => lines.push([series, x, trace.y[i], trace.error_y?.array?.[i] ?? ""]));
  }
  return lines.map((line) => line.map(quoted).join(",")).join("\n") + "\n";
}

export function numbers(name, figure, address) {
  save(`onegrad-${name}.csv`, new Blob([`# ${address}\n`, rows(figure)], { type: "text/csv" }));
}
