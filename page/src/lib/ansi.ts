// Output of programs as text with styles. Only colours and weights of the sequences count (ECMA-48, SGR); all others are left out, and control characters
// are shown as signs, so that output can do nothing but be read. Nothing here makes markup.
import { Style } from "./sgr.ts";

// Span is text of one look: names of classes, and colours as CSS has them where no class has them.
export type Span = { text: string; style: string; color?: string; back?: string; found?: boolean };

// longest is how much of a line is shown, in characters.
export const longest = 4000;

// eslint-disable-next-line no-control-regex
const sequence = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|$)|\x9b([0-?]*)[ -/]*([@-~])/g;

// newest returns what a line shows in the end: of what a carriage return has overwritten, the last.
export function newest(line: string): string {
  if (!line.includes("\r")) return line;
  const text = line.replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
}

// plain returns the text that a line shows in the end, without sequences.
export function plain(line: string): string {
  const text = newest(line);
  return text.includes("\x1b") || text.includes("\x9b") ? text.replace(sequence, "") : text;
}

// after returns the style in which the text behind a line begins.
export function after(line: string, style = Style.none): Style {
  if (!line.includes("\x1b[") && !line.includes("\x9b")) return style;
  for (const m of line.matchAll(sequence)) {
    if ((m[2] ?? m[4]) === "m") style = style.with(m[1] ?? m[3] ?? "");
  }
  return style;
}

// spans returns a line in pieces of one style each, beginning in a style. more is how many further bytes the line has.
export function spans(line: string, style = Style.none, more = 0): Span[] {
  const out: Span[] = [], whole = newest(line);
  // What was overwritten is gone, but for its colours.
  if (whole.length < line.length) style = after(line.slice(0, line.length - whole.length), style);
  const text = whole.length > longest ? whole.slice(0, longest) : whole;
  let last = 0;
  for (const m of text.matchAll(sequence)) {
    push(out, text.slice(last, m.index), style);
    if ((m[2] ?? m[4]) === "m") style = style.with(m[1] ?? m[3] ?? "");
    last = m.index + m[0].length;
  }
  push(out, text.slice(last), style);
  const rest = whole.length - text.length + more;
  if (rest > 0) out.push({ text: ` … ${rest.toLocaleString("en")} more characters`, style: "more" });
  return out;
}

function push(out: Span[], text: string, style: Style): void {
  if (text) out.push({ text: visible(text), ...style.look() });
}

// marked returns the pieces of a line with each occurrence of a text as a piece of its own. Upper and lower case are alike.
export function marked(pieces: Span[], text: string): Span[] {
  const want = text.toLowerCase(), whole = pieces.map((p) => p.text).join(""), low = whole.toLowerCase();
  if (!want || low.length !== whole.length || !low.includes(want)) return pieces;
  const out: Span[] = [];
  let at = 0, hit = low.indexOf(want);
  for (const p of pieces) {
    const end = at + p.text.length;
    for (let from = at; from < end; ) {
      while (hit >= 0 && hit + want.length <= from) hit = low.indexOf(want, hit + want.length);
      const inside = hit >= 0 && hit <= from;
      const to = Math.min(end, hit < 0 ? end : inside ? hit + want.length : hit);
      out.push({ ...p, text: whole.slice(from, to), ...(inside ? { found: true } : {}) });
      from = to;
    }
    at = end;
  }
  return out;
}

// visible shows characters that cannot be seen, or change how others are read, by signs.
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => String.fromCharCode(c === "\x7f" ? 0x2421 : 0x2400 + c.charCodeAt(0)))
    .replace(/[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/g, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}
