// All lines of a log that have a text, found in small steps so that the page goes on meanwhile.
import { plain } from "./ansi.ts";
import type { Log } from "./log.ts";

export class Finder {
  lines: number[] = []; // that have the text, in order
  private next: number; // the first line that was not looked at
  private readonly want: string;

  constructor(private readonly log: Log, text: string) {
    this.want = text.toLowerCase();
    this.next = log.dropped;
  }

  // step looks at further lines for at most so many ms, and reports whether it has looked at all.
  step(ms: number): boolean {
    const { log } = this, end = performance.now() + ms;
    // The last line is looked at again as long as it grows.
    if (this.lines[this.lines.length - 1] === this.next) this.lines.pop();
    let gone = 0;
    while (gone < this.lines.length && this.lines[gone]! < log.dropped) gone++;
    if (gone) this.lines.splice(0, gone);
    this.next = Math.max(this.next, log.dropped);
    while (this.next < log.lines) {
      const read = log.read(this.next, this.next + 64);
      if (read.length === 0) break;
      for (const [i, l] of read.entries()) {
        if (plain(l.text).toLowerCase().includes(this.want)) this.lines.push(this.next + i);
      }
      this.next += read.length;
      if (performance.now() > end) break;
    }
    const all = this.next >= log.lines;
    if (all && log.open) this.next = log.lines - 1;
    return all;
  }

  // neighbour returns the place in the list of the next line after or before one; -1: there is none.
  neighbour(line: number, step: 1 | -1): number {
    if (step > 0) return this.lines.findIndex((l) => l > line);
    for (let i = this.lines.length - 1; i >= 0; i--) if (this.lines[i]! < line) return i;
    return -1;
  }
}
