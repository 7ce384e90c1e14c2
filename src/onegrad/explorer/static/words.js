// Numbers and letters as they are printed: minus signs, fractions, subscripts, names of degrees.

const FRACTIONS = { 0: "0", 0.25: "¼", 0.333: "⅓", 0.375: "⅜", 0.4: "⅖", 0.5: "½" };
const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";
const DEGREES = ["constant", "linear", "quadratic", "cubic", "quartic"];

/** A number's text with a minus sign instead of a hyphen. */
export const minus = (text) => String(text).replace(/-(?=[\d.])/g, "−");

export const short = (x) =>
  minus(Math.abs(x) >= 100 ? x.toFixed(0) : Number(x.toPrecision(3)).toString());
export const percent = (x) => `${minus(Math.round(100 * x))}\u00a0%`;
export const ordinal = (k) => DEGREES[k] ?? `degree\u2011${k}`; // a hyphen, never a minus sign
/** A count of things with a comma every three digits: 4,000. */
export const whole = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");

/** Four digits that say something; a power of ten where zeros would hide them. */
export function reading(x) {
  if (x === 0 || Math.abs(x) >= 1e-4) return minus(x.toPrecision(4));
  const power = Math.floor(Math.log10(Math.abs(x)));
  return `${minus((x / 10 ** power).toPrecision(3))}·10⁻${superscript(-power)}`;
}

export const subscript = (n) => [...String(n)].map((digit) => "₀₁₂₃₄₅₆₇₈₉"[digit]).join("");
const superscript = (n) => [...String(n)].map((digit) => SUPERSCRIPTS[digit]).join("");

/** The threshold of a spike: a fraction where there is a sign for it. */
export const threshold = (x) => FRACTIONS[Number(x.toFixed(3))] ?? short(x);

/** Large round numbers as powers: 3·10⁵. */
export function size(n) {
  const power = Math.floor(Math.log10(n) + 1e-9);
  const lead = Number((n / 10 ** power).toPrecision(2));
  if (power < 5) return String(n);
  return `${lead === 1 ? "" : `${minus(lead)}·`}10${superscript(power)}`;
}

/** "a, b and c". */
export function list(words) {
  return words.length < 2 ? words.join("") : `${words.slice(0, -1).join(", ")} and ${words.at(-1)}`;
}

/** A message's text as nodes: x_1 and n^2 set low and high, stars and minus signs as such. */
export function typeset(text) {
  const pattern = /([A-Za-zα-ωΑ-Ω])(?:_(star)_?)?(?:_([\p{L}\d]))?(?:\^([−\p{L}\d.]*[\p{L}\d]))?/gu;
  const nodes = [];
  let end = 0;
  const words = minus(text).replaceAll("!=", "≠").replaceAll(">=", "≥").replaceAll("<=", "≤");
  for (const match of words.matchAll(pattern)) {
    const [whole, letter, star, low, high] = match;
    const before = words[match.index - 1] ?? " ";
    if (whole === letter || /[\p{L}\d_]/u.test(before)) continue;
    nodes.push(words.slice(end, match.index), letter + (star ? "⋆" : ""));
    for (const [tag, inside] of Object.entries({ sub: low, sup: high })) {
      if (inside === undefined) continue;
      const node = document.createElement(tag);
      node.textContent = inside;
      nodes.push(node);
    }
    end = match.index + whole.length;
  }
  return [...nodes, words.slice(end)].filter((node) => node !== "");
}
