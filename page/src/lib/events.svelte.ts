// The stream of all events as a list, the newest first: of bounded length, shown in batches, and held while it is looked at.
import { Failure, open } from "./net.svelte.ts";
import { backoff, pause } from "./pause.ts";
import type { Notice } from "./types.ts";

// keep bounds the events in memory; batch is the time between two changes of what is shown, in ms.
const keep = 1000;
const batch = 200;
const first = 200; // events that are asked for at the beginning
const silence = 40_000; // in ms: peers send a heartbeat every 15 s

// readEvent returns the notice of an event of the stream; undefined: it is a heartbeat.
export function readEvent(part: string): Notice | undefined {
  const data = part.split("\n").filter((l) => l.startsWith("data: ")).map((l) => l.slice(6)).join("\n");
  try {
    return data ? (JSON.parse(data) as Notice) : undefined;
  } catch {
    return undefined;
  }
}

export class Events {
  rows = $state.raw<Notice[]>([]);
  waiting = $state(0); // events that came while the list is held
  phase = $state<"starting" | "live" | "lost">("starting");
  failure = $state.raw<Failure | undefined>(undefined);
  missed = $state(0); // when events were lost between two of the list, by the browser's clock; 0: none were
  private held = false;
  private fresh: Notice[] = []; // that are not shown yet, the oldest first
  private timer: ReturnType<typeof setTimeout> | undefined;
  private last = "";

  // hold keeps the list as it is, or shows what has come meanwhile.
  hold(held: boolean): void {
    this.held = held;
    if (!held) this.show();
  }

  // follow hears the events that a query selects until the signal ends it, at whichever peer answers. A list that goes on keeps its events.
  async follow(query: URLSearchParams, signal: AbortSignal, again = false): Promise<void> {
    if (!again) {
      [this.rows, this.fresh, this.waiting, this.missed, this.last] = [[], [], 0, 0, ""];
      this.phase = "starting";
    }
    this.failure = undefined;
    for (let tries = 0; !signal.aborted; tries++) {
      try {
        await this.read(query, signal, () => { tries = 0; });
      } catch (e) {
        if (signal.aborted) break;
        if (e instanceof Failure && e.status >= 400 && e.status < 500) {
          this.failure = e;
          break;
        }
      }
      if (signal.aborted) break;
      this.phase = "lost";
      await pause(backoff(tries), signal).catch(() => undefined);
    }
    clearTimeout(this.timer);
    this.timer = undefined;
  }

  private async read(query: URLSearchParams, signal: AbortSignal, alive: () => void): Promise<void> {
    const q = new URLSearchParams(query), stop = new AbortController(), end = (): void => stop.abort();
    if (this.last) q.set("after", this.last);
    else q.set("last", String(first));
    signal.addEventListener("abort", end, { once: true });
    let timer = setTimeout(end, silence);
    try {
      const r = await open("/events?" + q.toString(), stop.signal);
      const reader = r.body!.pipeThrough(new TextDecoderStream()).getReader();
      let text = "";
      for (;;) {
        const { value, done } = await reader.read();
        if (done) return;
        clearTimeout(timer);
        timer = setTimeout(end, silence);
        alive();
        this.phase = "live";
        text += value;
        const parts = text.split("\n\n");
        text = parts.pop()!;
        for (const part of parts) {
          const n = readEvent(part);
          if (n && !this.take(n)) return;
        }
      }
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      stop.abort();
    }
  }

  // take takes an event, and reports whether the stream goes on.
  private take(n: Notice): boolean {
    if (n.type === "closed") return false;
    if (n.type === "reset") {
      // What is between the last event of the list and this one is no longer kept: the list begins again.
      [this.rows, this.fresh, this.last, this.missed] = [[], [], "", Date.now()];
      return false;
    }
    this.last = n.id;
    this.fresh.push(n);
    if (this.fresh.length > 2 * keep) this.fresh.splice(0, this.fresh.length - keep);
    this.timer ??= setTimeout(() => { this.timer = undefined; this.show(); }, batch);
    return true;
  }

  private show(): void {
    if (this.held) {
      this.waiting = Math.min(this.fresh.length, keep);
      return;
    }
    this.waiting = 0;
    if (this.fresh.length === 0) return;
    this.rows = [...this.fresh.reverse(), ...this.rows].slice(0, keep);
    this.fresh = [];
  }
}
