// The output of several ranks, tasks or streams as one text, in the order in which it comes here: each line with where it is from. They are asked in turns,
// since a browser has few connections to a peer.
import { newest } from "./ansi.ts";
import { Failure } from "./failure.ts";
import type { Open } from "./output.ts";
import { pause } from "./pause.ts";

// Source is the output at a path, which has a query already, and its name.
export type Source = { name: string; path: string };

// most bounds how many are read together, and pieces how much of one is read at a time, in bytes.
export const most = 32;
const piece = 1 << 20, atOnce = 3, lines = 500;

type State = Source & { next: number; rest: Uint8Array; ended: boolean };

export type Sink = {
  add(data: Uint8Array, live: boolean): void; // whole lines
  open(last: { name: string; text: string }[]): void; // lines that have no end yet, such as progress bars
  is(phase: "reading" | "following" | "interrupted" | "ended", why: string): void;
};

// readAll reads the last lines of each source, also of those that come later, and follows them until all have ended.
export async function readAll(open: Open, sources: () => Source[], live: () => boolean, sink: Sink, signal: AbortSignal, every = 1000): Promise<void> {
  const all: State[] = [];
  for (let round = 0; !signal.aborted; round++) {
    for (const s of sources()) {
      if (all.length < most && !all.some((a) => a.path === s.path)) all.push({ ...s, next: -1, rest: new Uint8Array(), ended: false });
    }
    const follows = live();
    const due = all.filter((s) => !s.ended);
    let failed = "";
    for (let i = 0; i < due.length; i += atOnce) {
      // What is there already keeps the order of the sources, whichever answers first.
      const got = await Promise.allSettled(due.slice(i, i + atOnce).map((s) => one(open, s, follows, signal)));
      if (signal.aborted) return;
      for (const [k, g] of got.entries()) {
        if (g.status === "fulfilled") take(due[i + k]!, g.value, sink, round > 0);
        else if (g.reason instanceof Failure && g.reason.status === 404) due[i + k]!.ended = true;
        else failed = g.reason instanceof Error ? g.reason.message : String(g.reason);
      }
    }
    sink.open(all.filter((s) => s.rest.length > 0).map((s) => ({ name: s.name, text: newest(new TextDecoder().decode(s.rest.subarray(-4096))) })));
    if (!follows && all.every((s) => s.ended)) {
      sink.is("ended", "");
      return;
    }
    sink.is(failed ? "interrupted" : "following", failed);
    await pause(every, signal).catch(() => undefined);
  }
}

type Got = { at: number; data: Uint8Array; ended: boolean };

async function one(open: Open, s: State, live: boolean, signal: AbortSignal): Promise<Got> {
  const r = await open(s.path + (s.next < 0 ? `&tail=${lines}&bytes=true` : `&offset=${s.next}`) + `&limit_bytes=${piece}`, signal);
  const of = (name: string): string => r.headers.get("X-Berth-Log-" + name) ?? "";
  const data = new Uint8Array(await r.arrayBuffer()), at = Number(of("Offset"));
  return { at, data, ended: (of("Ended") === "true" || !live) && at + data.length >= Number(of("Size")) };
}

// take passes on the whole lines of an answer, each with its source, and keeps the rest.
function take(s: State, got: Got, sink: Sink, live: boolean): void {
  const gap = s.next >= 0 && got.at > s.next;
  s.next = got.at + got.data.length;
  const both = new Uint8Array(s.rest.length + got.data.length);
  both.set(s.rest);
  both.set(got.data, s.rest.length);
  const end = got.ended ? both.length : both.lastIndexOf(10) + 1;
  s.rest = both.slice(end);
  s.ended = got.ended;
  if (end === 0) return;
  const text = new TextDecoder().decode(both.subarray(0, end)).replace(/\n$/, "").split("\n");
  if (gap) text.unshift("[output here was not kept]");
  // Each line begins without the colours of others. A carriage return would take the name away, too.
  sink.add(new TextEncoder().encode(text.map((l) => `\x1b[0;2m${s.name} │\x1b[0m ${newest(l)}\n`).join("")), live);
}
