// Styles of output as its sequences set them (ECMA-48, SGR; colours of ISO 8613-6).

type RGB = [number, number, number];

// Colour is one of the 16 of a terminal, or a mixture; undefined: that of the page.
type Colour = number | RGB | undefined;

// basic are the 16 colours of a terminal, for backgrounds.
const basic: RGB[] = [
  [40, 44, 52], [179, 38, 30], [27, 110, 60], [122, 86, 0], [10, 87, 164], [138, 42, 130], [15, 102, 116], [196, 202, 210],
  [100, 108, 120], [224, 84, 74], [60, 160, 100], [214, 170, 60], [80, 150, 230], [200, 100, 195], [60, 175, 190], [245, 247, 250],
];

const linear = (c: number): number => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
const encoded = (l: number): number => Math.round(255 * (l <= 0.0031308 ? l * 12.92 : 1.055 * l ** (1 / 2.4) - 0.055));
const luminance = (c: RGB): number => 0.2126 * linear(c[0]) + 0.7152 * linear(c[1]) + 0.0722 * linear(c[2]);
const css = (c: RGB): string => `rgb(${c.join(" ")})`;

// mixed returns one of 256 colours: the 16, a cube of 6 × 6 × 6, 24 greys.
function mixed(n: number): Colour {
  if (n < 16) return n;
  if (n >= 232) return [8 + 10 * (n - 232), 8 + 10 * (n - 232), 8 + 10 * (n - 232)];
  const step = (i: number): number => (i === 0 ? 0 : 55 + 40 * i);
  return [step(Math.floor((n - 16) / 36)), step(Math.floor((n - 16) / 6) % 6), step((n - 16) % 6)];
}

// readable returns a colour that can be read on the page's background (a contrast of 4.5), in the light and in the dark.
export function readable(c: RGB): string {
  const l = luminance(c), most = 0.17, least = 0.21;
  const light = l <= most ? c : (c.map((v) => encoded(linear(v) * (most / l))) as RGB);
  const mix = (least - l) / (1 - l);
  const dark = l >= least ? c : (c.map((v) => encoded(linear(v) + (1 - linear(v)) * mix)) as RGB);
  return `light-dark(${css(light)}, ${css(dark)})`;
}

const rgb = (c: number | RGB): RGB => (typeof c === "number" ? basic[c]! : c);

type Parts = { fore?: Colour; back?: Colour; bold?: boolean; dim?: boolean; slant?: boolean; under?: boolean; strike?: boolean; inverse?: boolean };

export class Style {
  static readonly none = new Style({});
  private seen: { style: string; color?: string; back?: string } | undefined;

  private constructor(private readonly parts: Parts) {}

  // look returns the classes of a style, and its colours where no class has them.
  look(): { style: string; color?: string; back?: string } {
    return (this.seen ??= this.find());
  }

  private find(): { style: string; color?: string; back?: string } {
    const p = this.parts, names = [p.bold && "bold", p.dim && "faint", p.slant && "slant", p.under && "under", p.strike && "strike"];
    let { fore, back } = p;
    if (p.inverse) {
      if (fore === undefined && back === undefined) names.push("inverse");
      [fore, back] = [back, fore];
    }
    let color: string | undefined;
    // On a background of its own, text has the colour that it asks for, if that can be read there.
    if (back !== undefined) {
      const l = luminance(rgb(back)), own = fore === undefined ? -1 : luminance(rgb(fore));
      const contrast = (Math.max(l, own) + 0.05) / (Math.min(l, own) + 0.05);
      color = own >= 0 && contrast >= 3 ? css(rgb(fore!)) : l > 0.18 ? "#000" : "#fff";
    } else if (typeof fore === "number") names.unshift("c" + (fore % 8));
    else if (fore) color = readable(fore);
    return { style: names.filter(Boolean).join(" "), ...(color ? { color } : {}), ...(back !== undefined ? { back: css(rgb(back)) } : {}) };
  }

  // with returns the style after a sequence with these parameters.
  with(codes: string): Style {
    let p: Parts = { ...this.parts };
    const all = codes.split(/[;:]/).map((c) => Number(c || 0));
    for (let i = 0; i < all.length; i++) {
      const c = all[i]!;
      if (c === 0) p = {};
      else if (c === 1) p.bold = true;
      else if (c === 2) p.dim = true;
      else if (c === 3) p.slant = true;
      else if (c === 4) p.under = true;
      else if (c === 7) p.inverse = true;
      else if (c === 9) p.strike = true;
      else if (c === 22) [p.bold, p.dim] = [false, false];
      else if (c === 23) p.slant = false;
      else if (c === 24) p.under = false;
      else if (c === 27) p.inverse = false;
      else if (c === 29) p.strike = false;
      else if (c >= 30 && c <= 37) p.fore = c - 30;
      else if (c >= 90 && c <= 97) p.fore = c - 82;
      else if (c === 39) p.fore = undefined;
      else if (c >= 40 && c <= 47) p.back = c - 40;
      else if (c >= 100 && c <= 107) p.back = c - 92;
      else if (c === 49) p.back = undefined;
      else if (c === 38 || c === 48) {
        let to: Colour;
        const kind = all[i + 1];
        if (kind === 5) {
          to = mixed(Math.min(255, all[i + 2] ?? 0));
          i += 2;
        } else if (kind === 2) {
          // With colons an empty number, of the colour space, may come first.
          if (codes.includes("2::")) i++;
          to = [0, 1, 2].map((k) => Math.min(255, all[i + 2 + k] ?? 0)) as RGB;
          i += 4;
        } else continue;
        p[c === 38 ? "fore" : "back"] = to;
      }
    }
    return new Style(p);
  }
}
