// A long list that is read page by page as far as it is looked at. When it has changed, only the pages that are looked at are read again.
import { untrack } from "svelte";
import { topics } from "./feed.svelte.ts";
import { Failure, enter, get, net } from "./net.svelte.ts";
import { backoff, pause } from "./pause.ts";
import { early, shown } from "./resource.svelte.ts";

type Body = { next?: string | undefined };
type Part<T> = { after: string; limit: number; body: T; tag: string; stale: boolean };
type Reading = { i: number; after: string; limit: number; tag: string };

const usual = 200, most = 2000; // rows of a page

export class Paged<T extends Body> {
  parts = $state.raw<Part<T>[]>([]);
  failure = $state.raw<Failure | undefined>(undefined);
  at = $state(0); // when a page was read last, by the browser's clock
  from = $state(""); // the peer that it is from
  private path = "";
  private window: [number, number] = [0, 0];
  private running: AbortController | undefined;
  private changed = false;
  private began = 0;
  private due: ReturnType<typeof setTimeout> | undefined;
  old = $state(false); // what there is was read at another path

  // sizes returns how many rows a page has in each of the lists that are shown one after the other; cursor is the parameter that names where a page begins.
  constructor(private readonly sizes: (body: T) => number[], private readonly cursor: () => string) {}

  // value is the first page, which has the totals.
  get value(): T | undefined { return this.parts[0]?.body; }

  // rows is how many rows have been read.
  get rows(): number { return this.parts.reduce((n, p) => n + this.sizes(p.body).reduce((a, b) => a + b, 0), 0); }

  // read reads the list at a path, which has a query. What was read at another path stays until the first page is there.
  read(path: string): void {
    if (path !== this.path) {
      [this.path, this.failure, this.window] = [path, undefined, [0, 0]];
      this.running?.abort();
      this.running = undefined;
      [this.old, this.began] = [this.parts.length > 0, 0];
    }
    this.changed = true;
    const wait = early(this.began);
    if (this.running || wait <= 0) void this.run();
    else this.due ??= setTimeout(() => { this.due = undefined; void this.run(); }, wait);
  }

  // look takes which rows are looked at, and reads what is missing there.
  look(from: number, to: number): void {
    this.window = [from, to];
    void this.run();
  }

  retry(): void {
    this.end();
    this.began = 0;
    this.changed = true;
    void this.run();
  }

  end(): void {
    clearTimeout(this.due);
    this.due = undefined;
    this.running?.abort();
    this.running = undefined;
  }

  // inView reports whether rows of a page are looked at. The rows of all pages' first list come ahead of those of their second.
  private inView(i: number): boolean {
    const [from, to] = this.window, sizes = this.parts.map((p) => this.sizes(p.body));
    let at = 0;
    for (let list = 0; list < (sizes[0]?.length ?? 0); list++) {
      for (let k = 0; k < sizes.length; k++) {
        const n = sizes[k]![list]!;
        if (k === i && n > 0 && at < to && at + n > from) return true;
        at += n;
      }
    }
    return false;
  }

  // next returns what is to be read now; undefined: nothing.
  private next(): Reading | undefined {
    if (this.parts.length === 0 || this.old) return { i: 0, after: "", limit: usual, tag: "" };
    const i = this.parts.findIndex((p, k) => p.stale && (k === 0 || this.inView(k)));
    if (i >= 0) return { ...this.parts[i]!, i };
    const last = this.parts[this.parts.length - 1]!, lack = this.window[1] + 60 - this.rows;
    return last.body.next && lack > 0 ? { i: this.parts.length, after: last.body.next, limit: Math.min(most, Math.ceil(lack / usual) * usual), tag: "" } : undefined;
  }

  private async run(): Promise<void> {
    if (this.running) return;
    const mine = (this.running = new AbortController());
    let took = 0;
    for (let tries = 0; !mine.signal.aborted; ) {
      if (this.changed) {
        this.changed = false;
        if (!this.old) this.parts = this.parts.map((p) => ({ ...p, stale: true }));
      }
      const r = this.next();
      if (!r) {
        if (!this.changed) break;
        continue;
      }
      const began = (this.began = Date.now());
      try {
        const q = new URLSearchParams({ limit: String(r.limit) });
        if (r.after) q.set(this.cursor(), r.after);
        const a = await get<T>(this.path + "&" + q.toString(), mine.signal, r.tag);
        if (mine.signal.aborted) return;
        this.take(r, a.status === 304 ? this.parts[r.i]!.body : a.body, a.tag);
        [this.at, this.from, this.failure, tries] = [Date.now(), net.peer, undefined, 0];
        took = Date.now() - began;
        // A list that changes all the time is read again at most for a part of the time, the longer it takes the less often.
        if (this.changed) await pause(Math.min(5000, Math.max(300, 8 * took)), mine.signal).catch(() => undefined);
      } catch (e) {
        if (mine.signal.aborted) return;
        const f = e instanceof Failure ? e : new Failure(0, undefined, String(e));
        this.failure = f;
        if (f.status === 0) enter("lost");
        if (f.status !== 0 && f.status < 500) break; // asking again gives the same
        await pause(backoff(tries++), mine.signal).catch(() => undefined);
      }
    }
    if (this.running === mine) this.running = undefined;
  }

  // take puts a page in its place. Where it ends elsewhere now, the page behind begins there; where it is the last one, there are none behind.
  private take(r: Reading, body: T, tag: string): void {
    const parts = this.old ? [] : [...this.parts];
    this.old = false;
    const before = parts[r.i]?.body.next;
    parts[r.i] = { after: r.after, limit: r.limit, body, tag, stale: false };
    const behind = parts[r.i + 1];
    if (!body.next) parts.length = r.i + 1;
    else if (behind && body.next !== before) parts[r.i + 1] = { ...behind, after: body.next, tag: "", stale: true };
    this.parts = parts;
  }
}

// watchPages keeps a list current as long as the component lives, by the topics that it depends on, and every few seconds since its numbers change without one.
export function watchPages<T extends Body>(list: Paged<T>, path: () => string, on: string[], every: number): void {
  $effect(() => {
    const p = path();
    for (const t of on) void topics[t];
    void net.phase;
    if (shown.now) untrack(() => list.read(p));
  });
  $effect(() => {
    const timer = setInterval(() => { if (shown.now) list.read(path()); }, every);
    return () => clearInterval(timer);
  });
  $effect(() => () => list.end());
}
