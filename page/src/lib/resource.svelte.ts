// What a page shows of the API: read again when a topic that it depends on has changed, kept while no peer answers, with its age.
import { untrack } from "svelte";
import { Failure, enter, get, net, sent, slowAfter } from "./net.svelte.ts";
import { topics } from "./feed.svelte.ts";
import { backoff, pause } from "./pause.ts";

// calm is the shortest time from one read of a thing to the next, in ms: what changes several times a second is read less often. A change after a
// quiet time is read at once.
const calm = 500;

// early returns for how long, in ms, a read that began at a time is to be the last one; not above 0: it may be followed at once.
export function early(began: number): number {
  const now = Date.now();
  return now - sent.at < 2000 ? 0 : began + calm - now;
}

export class Resource<T> {
  value = $state.raw<T | undefined>(undefined);
  failure = $state.raw<Failure | undefined>(undefined);
  at = $state(0); // when the value was read, by the browser's clock
  from = $state(""); // the peer that it is from
  loading = $state(false);
  slow = $state(false); // an answer takes longer than usual
  private tag = "";
  private path = "";
  private running: AbortController | undefined;
  private again = false;
  private began = 0;
  private due: ReturnType<typeof setTimeout> | undefined;

  // read reads the resource at a path. A value of another path is dropped unless it is kept meanwhile.
  async read(path: string, keep = false): Promise<void> {
    if (path !== this.path) {
      if (!keep) this.value = undefined;
      this.tag = "";
      this.failure = undefined;
      this.path = path;
      this.running?.abort();
      this.running = undefined;
      this.began = 0;
      clearTimeout(this.due);
      this.due = undefined;
    }
    if (this.running) {
      this.again = true;
      return;
    }
    const wait = early(this.began);
    if (wait > 0) {
      this.due ??= setTimeout(() => { this.due = undefined; void this.read(this.path, true); }, wait);
      return;
    }
    const mine = (this.running = new AbortController());
    this.loading = true;
    for (let tries = 0; !mine.signal.aborted; tries++) {
      const began = (this.began = Date.now());
      const late = setTimeout(() => this.wait(true), slowAfter);
      try {
        const a = await get<T>(path, mine.signal, this.tag);
        if (mine.signal.aborted) return;
        if (a.status !== 304) this.value = a.body;
        this.tag = a.tag;
        this.at = Date.now();
        this.from = net.peer;
        this.failure = undefined;
        if (!this.again) break;
        // A list that changes all the time is read again at most for a part of the time, the longer it takes the less often.
        this.again = false;
        await pause(Math.min(5000, Math.max(300, 8 * (Date.now() - began))), mine.signal).catch(() => undefined);
        continue;
      } catch (e) {
        if (mine.signal.aborted) return;
        const f = e instanceof Failure ? e : new Failure(0, undefined, String(e));
        this.failure = f;
        if (f.status === 0) enter("lost");
        if (f.status !== 0 && f.status < 500) break; // asking again gives the same
        await pause(backoff(tries), mine.signal).catch(() => undefined);
      } finally {
        clearTimeout(late);
        if (this.running === mine || !this.running) this.wait(false);
      }
    }
    if (this.running === mine) {
      this.running = undefined;
      this.loading = false;
    }
  }

  private wait(slow: boolean): void {
    if (slow !== this.slow) net.slow += slow ? 1 : -1;
    this.slow = slow;
  }

  // retry reads again now.
  retry(): void {
    this.began = 0;
    this.running?.abort();
    this.running = undefined;
    void this.read(this.path, true);
  }

  end(): void {
    clearTimeout(this.due);
    this.due = undefined;
    this.running?.abort();
    this.running = undefined;
    this.wait(false);
  }
}

// shown is whether this window is: what is not looked at is not read again.
export const shown = $state({ now: !document.hidden });
document.addEventListener("visibilitychange", () => { shown.now = !document.hidden; });

// watch keeps a resource current as long as the component lives, by the topics that it depends on, and every few seconds if its numbers change without one.
export function watch<T>(path: () => string, on: string[], every = 0, keep = false): Resource<T> {
  const r = new Resource<T>();
  $effect(() => {
    const p = path();
    for (const t of on) void topics[t];
    void net.phase;
    if (p && shown.now) untrack(() => void r.read(p, keep));
  });
  $effect(() => {
    if (!every) return;
    const timer = setInterval(() => { if (shown.now && path()) void r.read(path(), keep); }, every);
    return () => clearInterval(timer);
  });
  $effect(() => () => r.end());
  return r;
}
