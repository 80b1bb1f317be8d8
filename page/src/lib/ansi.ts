// Output of programs as text with styles. Only colours and weights of the sequences count (ECMA-48, SGR); all others are left out, and control characters
// are shown as signs, so that output can do nothing but be read. Nothing here makes markup.

export type Span = { text: string; style: string };

// longest is how much of a line is shown, in characters.
export const longest = 4000;

// eslint-disable-next-line no-control-regex
const sequence = /\x1b(?:\[([0-?]*)[ -/]*([@-~])|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\|$)|[ -/]*[0-~]|$)|\x9b([0-?]*)[ -/]*([@-~])/g;

// spans returns a line in pieces of one style each. Of what a carriage return has overwritten the last is shown.
export function spans(line: string): Span[] {
  const out: Span[] = [];
  const cut = line.length > longest ? line.length - longest : 0;
  let text = cut ? line.slice(0, longest) : line;
  const back = text.replace(/\r+$/, "").lastIndexOf("\r");
  text = (back >= 0 ? text.slice(back + 1) : text).replace(/\r+$/, "");
  let style = new Style(), last = 0;
  for (const m of text.matchAll(sequence)) {
    push(out, text.slice(last, m.index), style.name());
    if ((m[2] ?? m[4]) === "m") style = style.with(m[1] ?? m[3] ?? "");
    last = m.index + m[0].length;
  }
  push(out, text.slice(last), style.name());
  if (cut) push(out, ` … ${cut.toLocaleString()} more characters`, "more");
  return out;
}

function push(out: Span[], text: string, style: string): void {
  if (text) out.push({ text: visible(text), style });
}

// visible shows characters that cannot be seen, or change how others are read, by signs.
export function visible(text: string): string {
  // eslint-disable-next-line no-control-regex
  return text.replace(/[\x00-\x08\x0b-\x1f\x7f]/g, (c) => String.fromCharCode(c === "\x7f" ? 0x2421 : 0x2400 + c.charCodeAt(0)))
    .replace(/[\x80-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\u2028\u2029\ufeff]/g, (c) => `⟨U+${c.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`);
}

class Style {
  constructor(private colour = "", private bold = false, private dim = false, private underline = false) {}

  name(): string {
    return [this.colour && "c" + this.colour, this.bold && "bold", this.dim && "faint", this.underline && "under"].filter(Boolean).join(" ");
  }

  with(codes: string): Style {
    let s: Style = this;
    const all = codes.split(/[;:]/).map((c) => Number(c || 0));
    for (let i = 0; i < all.length; i++) {
      const c = all[i]!;
      if (c === 0) s = new Style();
      else if (c === 1) s = new Style(s.colour, true, s.dim, s.underline);
      else if (c === 2) s = new Style(s.colour, s.bold, true, s.underline);
      else if (c === 4) s = new Style(s.colour, s.bold, s.dim, true);
      else if (c === 22) s = new Style(s.colour, false, false, s.underline);
      else if (c === 24) s = new Style(s.colour, s.bold, s.dim, false);
      else if (c === 39) s = new Style("", s.bold, s.dim, s.underline);
      else if (c >= 30 && c <= 37) s = new Style(String(c - 30), s.bold, s.dim, s.underline);
      else if (c >= 90 && c <= 97) s = new Style(String(c - 90), s.bold, s.dim, s.underline);
      else if (c === 38 || c === 48) {
        if (all[i + 1] === 5) {
          const n = all[i + 2] ?? 0;
          if (c === 38) s = new Style(n < 16 ? String(n % 8) : "6", s.bold, s.dim, s.underline);
          i += 2;
        } else if (all[i + 1] === 2) i += 4;
      }
    }
    return s;
  }
}
