// The stream of what has changed, read by fetch: an EventSource gives up for ever on some answers.
import { away, backoff, pause } from "./pause.ts";

export type Changed = { index: number; topics: Record<string, number> };
export type Heard =
  | { kind: "changed"; base: string; leader: string; version: string; changed: Changed }
  | { kind: "alive"; base: string }
  | { kind: "lost"; since: number; why: string; away?: string } // a peer under another host answers, and has no session of this browser
  | { kind: "denied" };

// silence is how long a stream may be silent, in ms: peers send a heartbeat every 15 s.
const silence = 40_000;
const answerLimit = 4000, lastLimit = 20_000; // until it begins, while others may be asked or not

export type Follow = { bases: string[] };

// follow hears the stream at one of the peers until the signal ends it, and moves to the next peer whenever one fails.
export async function follow(to: () => Follow, heard: (h: Heard) => void, signal: AbortSignal): Promise<void> {
  let at = 0, tries = 0, since = 0;
  while (!signal.aborted) {
    const { bases } = to();
    const base = bases[at % bases.length]!;
    try {
      await one(base, tries + 1 < bases.length ? answerLimit : lastLimit, (h) => { tries = 0; since = 0; heard(h); }, signal);
    } catch (e) {
      if (signal.aborted) return;
      const elsewhere = e instanceof Denied && away(base);
      if (e instanceof Denied && !elsewhere) {
        heard({ kind: "denied" });
        return;
      }
      since ||= Date.now();
      heard({ kind: "lost", since, why: String(e), ...(elsewhere ? { away: base } : {}) });
    }
    at++;
    // The first round over all peers is at once.
    if (++tries >= bases.length) await pause(backoff(tries - bases.length), signal).catch(() => undefined);
  }
}

class Denied extends Error {}

async function one(base: string, limit: number, heard: (h: Heard) => void, signal: AbortSignal): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  signal.addEventListener("abort", end, { once: true });
  let timer = setTimeout(end, limit);
  try {
    const r = await fetch(base + "/events?types=changed", { cache: "no-store", credentials: "include", signal: stop.signal });
    if (r.status === 401 || r.status === 403) throw new Denied();
    if (!r.ok || !r.body) throw new Error(`${base} answers ${r.status}`);
    const leader = r.headers.get("X-Berth-Leader") ?? "", version = r.headers.get("X-Berth-Version") ?? "";
    const reader = r.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(end, silence);
      const { value, done } = await reader.read();
      if (done) throw new Error("the stream has ended");
      text += value;
      const parts = text.split("\n\n");
      text = parts.pop()!;
      for (const part of parts) {
        const changed = parse(part);
        heard(changed ? { kind: "changed", base, leader, version, changed } : { kind: "alive", base });
      }
    }
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", end);
    stop.abort();
  }
}

// parse returns what an event of the stream says; undefined: it is none of a change.
export function parse(part: string): Changed | undefined {
  const lines = part.split("\n");
  if (!lines.includes("event: changed")) return undefined;
  const data = lines.filter((l) => l.startsWith("data: ")).map((l) => l.slice(6)).join("\n");
  try {
    const c = JSON.parse(data) as Changed;
    return typeof c.index === "number" && typeof c.topics === "object" ? c : undefined;
  } catch {
    return undefined;
  }
}
