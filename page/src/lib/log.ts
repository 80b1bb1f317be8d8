// The output of a job in memory: bytes in pieces, with a mark every 256 lines or 256 KiB. Only what is shown is decoded. Beyond a bound the oldest goes.
import { after } from "./ansi.ts";
import { Style } from "./sgr.ts";

const every = 256, large = 256 << 10, small = 64 << 10;

type Piece = { at: number; data: Uint8Array; room?: Uint8Array };
type Mark = { line: number; at: number }; // a line, and the byte at which it starts

// Line is a line without its end, as far as it is looked at: of one of megabytes the newest state, from its beginning on.
export type Line = { text: string; more: number };

type Block = { mark: Mark; end: number; lines: Line[]; styles: Style[] };

export class Log {
  lines = 0; // complete ones and the last, incomplete one, with those that are gone
  dropped = 0; // lines that are gone
  size = 0; // bytes that have come
  open = false; // the last line has no end yet
  private pieces: Piece[] = [];
  private marks: Mark[] = [];
  private times: Mark[] = []; // from a line on: when it came, 0: not known
  private first = 0; // the first byte that is kept
  private blocks: Block[] = []; // that were read last

  constructor(private readonly most = 128 << 20) {}

  // add appends output. at is when it came, if it came while it was followed.
  add(data: Uint8Array, at = 0): void {
    if (data.length === 0) return;
    const stamp = this.times[this.times.length - 1], known = stamp?.at ?? 0;
    if (at === 0 ? known !== 0 : at - known >= 100) {
      if (stamp?.line === this.lines) stamp.at = at;
      else this.times.push({ line: this.lines, at });
    }
    const last = this.pieces[this.pieces.length - 1];
    const length = last?.data.length ?? 0;
    if (last?.room && length + data.length <= small) { // small pieces, as a follow brings them, become one
      last.room.set(data, length);
      last.data = last.room.subarray(0, length + data.length);
    } else if (data.length < small / 2) {
      const room = new Uint8Array(small);
      room.set(data);
      this.pieces.push({ at: this.size, data: room.subarray(0, data.length), room });
    } else this.pieces.push({ at: this.size, data });
    for (let i = 0; i < data.length; i++) {
      if (!this.open) {
        const mark = this.marks[this.marks.length - 1], from = this.size + i;
        if (!mark || this.lines - mark.line >= every || from - mark.at >= large) this.marks.push({ line: this.lines, at: from });
        this.lines++;
        this.open = true;
      }
      const end = data.indexOf(10, i);
      if (end < 0) break;
      this.open = false;
      i = end;
    }
    this.size += data.length;
    this.drop();
  }

  // with returns a log of earlier output and of this one's.
  with(earlier: Uint8Array): Log {
    const log = new Log(Math.max(this.most, this.size + earlier.length));
    log.add(earlier);
    for (const p of this.pieces) log.add(p.data);
    const more = log.lines - this.lines;
    log.times = this.times.map((t) => ({ line: t.line + more, at: t.at }));
    return log;
  }

  // cameAt returns when a line came, by the clock of this browser; 0: not known.
  cameAt(line: number): number {
    const t = this.times[find(this.times, (m) => m.line <= line)];
    return t && t.line <= line ? t.at : 0;
  }

  private drop(): void {
    while (this.size - this.first > this.most && this.pieces.length > 1) {
      this.pieces.shift();
      this.first = this.pieces[0]!.at;
      let i = 0;
      while (i < this.marks.length - 1 && this.marks[i]!.at < this.first) i++;
      this.marks.splice(0, i);
      this.dropped = this.marks[0]!.line;
    }
  }

  // slice returns the bytes of a range.
  private slice(from: number, to: number): Uint8Array {
    const out = new Uint8Array(Math.max(0, to - from));
    for (let i = find(this.pieces, (p) => p.at <= from); i < this.pieces.length && this.pieces[i]!.at < to; i++) {
      const p = this.pieces[i]!, a = Math.max(0, from - p.at), b = Math.min(p.data.length, to - p.at);
      if (b > a) out.set(p.data.subarray(a, b), p.at + a - from);
    }
    return out;
  }

  // read returns lines from one number up to another.
  read(from: number, to: number): Line[] {
    const out: Line[] = [];
    this.each(from, to, (b, i) => out.push(b.lines[i]!));
    return out;
  }

  // stylesAt returns the styles in which lines begin. A colour lasts over the ends of lines, for 256 of them at least.
  stylesAt(from: number, to: number): Style[] {
    const out: Style[] = [];
    this.each(from, to, (b, i) => {
      if (b.styles.length === 0) {
        const n = this.marks.indexOf(b.mark), before = n > 0 ? this.block(n - 1) : undefined;
        let style = before ? before.lines.reduce((s, l) => after(l.text, s), Style.none) : Style.none;
        for (const l of b.lines) {
          b.styles.push(style);
          style = after(l.text, style);
        }
      }
      out.push(b.styles[i]!);
    });
    return out;
  }

  private each(from: number, to: number, take: (b: Block, i: number) => void): void {
    to = Math.min(to, this.lines);
    for (from = Math.max(from, this.dropped); from < to; ) {
      const b = this.block(find(this.marks, (m) => m.line <= from)), end = Math.min(to, b.mark.line + b.lines.length);
      if (end <= from) return;
      for (; from < end; from++) take(b, from - b.mark.line);
    }
  }

  private block(n: number): Block {
    const mark = this.marks[n]!, end = this.marks[n + 1]?.at ?? this.size;
    const kept = this.blocks.findIndex((b) => b.mark === mark);
    if (kept >= 0 && this.blocks[kept]!.end === end) return this.blocks[kept]!;
    if (kept >= 0) this.blocks.splice(kept, 1);
    const b: Block = { mark, end, lines: this.decode(mark.at, end), styles: [] };
    this.blocks.unshift(b);
    this.blocks.length = Math.min(this.blocks.length, 4);
    return b;
  }

  // decode returns the lines of a block. Only the last one of a block may be large, since a mark follows it.
  private decode(from: number, end: number): Line[] {
    const head = this.slice(from, Math.min(end, from + large));
    if (from + head.length === end) return split(head);
    const at = head.lastIndexOf(10) + 1, lines = split(head.subarray(0, at));
    const last = this.slice(end - 2, end);
    let stop = end;
    for (let i = 1; i >= 0 && (last[i] === 10 || last[i] === 13); i--) stop--; // its own end
    return [...lines, this.newestOf(from + at, stop)];
  }

  // newestOf returns the newest state of a large line: what follows its last carriage return, which is looked for in its last MiB.
  private newestOf(from: number, end: number): Line {
    const tail = this.slice(Math.max(from, end - (1 << 20)), end), back = tail.lastIndexOf(13);
    const begin = back >= 0 ? end - tail.length + back + 1 : from, data = this.slice(begin, Math.min(end, begin + large));
    return { text: new TextDecoder().decode(data, { stream: true }), more: end - begin - data.length };
  }
}

// find returns the last index of a list for which a condition holds that holds for all before; 0 if it holds for none.
function find<T>(list: T[], fits: (v: T) => boolean): number {
  let lo = 0, hi = list.length - 1;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (fits(list[mid]!)) lo = mid;
    else hi = mid - 1;
  }
  return Math.max(0, lo);
}

function split(data: Uint8Array): Line[] {
  const lines = new TextDecoder().decode(data).split("\n");
  if (lines[lines.length - 1] === "") lines.pop();
  return lines.map((text) => ({ text, more: 0 }));
}
