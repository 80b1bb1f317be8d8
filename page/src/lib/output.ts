// The output of a rank by its bytes (docs/api.md, "Logs in bytes"): read from an offset on, and after a break again from the byte behind the last one, at
// any peer, so that nothing is missing and nothing is there twice.
import { Failure } from "./failure.ts";
import { backoff, pause } from "./pause.ts";

export type Open = (path: string, signal: AbortSignal) => Promise<Response>;

// Start is where reading begins: at the last lines, or at a byte, for at most so many bytes.
export type Start = { tail: number } | { offset: number; most?: number };

export type Phase = "reading" | "following" | "interrupted" | "ended" | "part";

export type Sink = {
  begin(offset: number): void; // the output from a byte on comes now, in place of what there is
  add(data: Uint8Array, live: boolean): void; // live: written while it was followed
  gap(bytes: number): void; // a part in the middle that the node has not kept
  end(data: Uint8Array): void; // the end of the output that peers keep, in place of what there is: the node does not answer
  is(phase: Phase, why: string): void;
};

const header = (r: Response, name: string): string => r.headers.get("X-Berth-Log-" + name) ?? "";

// read reads the output at a path, which has a query already, until there is no more of it or, if it is live, until the rank has ended.
export async function read(open: Open, path: string, start: Start, live: boolean, sink: Sink, signal: AbortSignal): Promise<void> {
  let next = "offset" in start ? start.offset : -1, begun = false;
  const last = "offset" in start && start.most ? start.offset + start.most : Infinity;
  for (let tries = 0; ; tries++) {
    const stop = new AbortController(), end = (): void => stop.abort();
    signal.addEventListener("abort", end, { once: true });
    try {
      const r = await open(path + (next < 0 ? `&tail=${(start as { tail: number }).tail}&bytes=true` : `&offset=${next}`) + (live ? "&follow=true" : ""), stop.signal);
      const at = Number(header(r, "Offset")), size = Number(header(r, "Size")), ended = header(r, "Ended") === "true" || !live;
      if (!begun) sink.begin(at);
      else if (at > next) sink.gap(at - next);
      [begun, next] = [true, at];
      sink.is(live ? "following" : "reading", "");
      const reader = r.body!.getReader();
      for (;;) {
        const { value, done } = await reader.read();
        if (done) break;
        tries = -1;
        const data = next + value.length > last ? value.subarray(0, last - next) : value;
        sink.add(data, live && next >= size);
        next += data.length;
        if (next >= last) {
          sink.is("part", "");
          return;
        }
      }
      if (ended && next >= size) {
        sink.is("ended", "");
        return;
      }
      if (tries >= 0) await pause(backoff(tries), signal);
    } catch (e) {
      if (signal.aborted) return;
      if (e instanceof Failure && e.status !== 0 && e.status < 500) throw e;
      if (!begun && tries <= 0 && e instanceof Failure && e.code === "node_unreachable") await kept(open, path, sink, signal);
      sink.is("interrupted", e instanceof Failure ? e.message : "");
      await pause(backoff(Math.max(0, tries)), signal).catch(() => undefined);
      if (signal.aborted) return;
    } finally {
      signal.removeEventListener("abort", end);
      stop.abort();
    }
  }
}

// kept reads the end of the output that peers keep of ranks that have ended.
async function kept(open: Open, path: string, sink: Sink, signal: AbortSignal): Promise<void> {
  try {
    const r = await open(path + "&tail=5000", signal);
    sink.end(new Uint8Array(await r.arrayBuffer()));
  } catch {
    // Then there is nothing to be had.
  }
}

// before reads the piece of at most so many bytes ahead of a byte. It begins with a line where it can.
export async function before(open: Open, path: string, byte: number, limit: number, signal: AbortSignal): Promise<{ at: number; data: Uint8Array }> {
  const r = await open(path + `&before=${byte}&limit_bytes=${limit}`, signal);
  return { at: Number(header(r, "Offset")), data: new Uint8Array(await r.arrayBuffer()) };
}

// search returns the byte at which the first line with a text begins, or the last one that begins ahead of a byte; -1: there is none.
export async function search(open: Open, path: string, text: string, backwards: boolean, ahead: number, signal: AbortSignal): Promise<number> {
  let found = -1;
  for (let from = 0; from < ahead; ) {
    const r = await open(path + `&grep=${encodeURIComponent(text)}&ignore_case=true&offset=${from}`, signal);
    const next = Number(header(r, "Next"));
    for (const line of (await r.text()).split("\n")) {
      const at = Number(line.slice(0, line.indexOf(":")));
      if (line === "" || !(at < ahead)) continue;
      found = at;
      if (!backwards) return found;
    }
    if (!(next > from)) break;
    from = next;
  }
  return found;
}
