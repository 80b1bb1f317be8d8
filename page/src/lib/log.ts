// The output of a job in memory: bytes in pieces, with a mark at every 256th line. Only what is shown is decoded. Beyond a bound the oldest goes.

const every = 256;

type Piece = { at: number; data: Uint8Array };

export class Log {
  lines = 0; // complete ones and the last, incomplete one, with those that are gone
  dropped = 0; // lines that are gone
  size = 0; // bytes that have come
  private pieces: Piece[] = [];
  private marks: number[] = [0]; // byte at which line 256*i starts
  private first = 0; // the first byte that is kept
  private open = false; // the last line has no end yet

  constructor(private readonly most = 128 << 20) {}

  // add appends output.
  add(data: Uint8Array): void {
    if (data.length === 0) return;
    const last = this.pieces[this.pieces.length - 1];
    if (last && last.data.length + data.length < 1 << 16) { // small pieces, as a follow brings them, become one
      const both = new Uint8Array(last.data.length + data.length);
      both.set(last.data);
      both.set(data, last.data.length);
      last.data = both;
    } else this.pieces.push({ at: this.size, data });
    for (let i = 0; i < data.length; i++) {
      if (!this.open) {
        if (this.lines % every === 0) this.marks[this.lines / every] = this.size + i;
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
    return log;
  }

  private drop(): void {
    while (this.size - this.first > this.most && this.pieces.length > 1) {
      this.pieces.shift();
      const from = this.pieces[0]!.at;
      let block = Math.floor(this.dropped / every);
      while (block < this.marks.length - 1 && this.marks[block]! < from) block++;
      this.dropped = block * every;
      this.first = from;
    }
  }

  // slice returns the bytes of a range.
  private slice(from: number, to: number): Uint8Array {
    const out = new Uint8Array(Math.max(0, to - from));
    let lo = 0, hi = this.pieces.length - 1;
    while (lo < hi) {
      const mid = (lo + hi + 1) >> 1;
      if (this.pieces[mid]!.at <= from) lo = mid;
      else hi = mid - 1;
    }
    for (let i = lo; i < this.pieces.length && this.pieces[i]!.at < to; i++) {
      const p = this.pieces[i]!, a = Math.max(0, from - p.at), b = Math.min(p.data.length, to - p.at);
      if (b > a) out.set(p.data.subarray(a, b), p.at + a - from);
    }
    return out;
  }

  // read returns lines from one number up to another, without their ends.
  read(from: number, to: number): string[] {
    from = Math.max(from, this.dropped);
    to = Math.min(to, this.lines);
    const out: string[] = [];
    while (from < to) {
      const block = Math.floor(from / every), start = block * every;
      const lines = this.block(block);
      for (; from < to && from - start < lines.length; from++) out.push(lines[from - start]!);
      if (from < to && from - start >= lines.length && from < start + every) break;
    }
    return out;
  }

  private cached: { block: number; end: number; lines: string[] } | undefined;

  private block(block: number): string[] {
    const end = this.marks[block + 1] ?? this.size;
    if (this.cached?.block === block && this.cached.end === end) return this.cached.lines;
    const lines = new TextDecoder().decode(this.slice(this.marks[block]!, end)).split("\n");
    if (lines[lines.length - 1] === "") lines.pop();
    this.cached = { block, end, lines };
    return lines;
  }

  // find returns the next line that contains a text, from a line on in a direction; -1: there is none.
  find(text: string, from: number, step: 1 | -1): number {
    const want = text.toLowerCase();
    for (let i = from; i >= this.dropped && i < this.lines; i += step) {
      const [line] = this.read(i, i + 1);
      if (line?.toLowerCase().includes(want)) return i;
    }
    return -1;
  }
}
