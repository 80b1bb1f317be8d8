// The client of the API. It asks the peer that answered last, and goes on at the next one when that fails: reads at once, changes under the same
// Idempotency-Key, so that none is carried out twice.
import { text } from "./body.ts";
import { hear } from "./clock.svelte.ts";
import { Failure } from "./failure.ts";
import { uuidv7 } from "./ids.ts";
import { away, backoff, pause } from "./pause.ts";
import { race } from "./race.ts";
import type { Code, Problem } from "./types.ts";

export { Failure };

export type Phase = "starting" | "live" | "lost" | "electing" | "signin";

// net is what the page knows about its peers.
export const net = $state({
  phase: "starting" as Phase,
  since: Date.now(), // of the phase, by the browser's clock
  base: "", // of the peer that answered last; empty: the one that served the page
  peer: "", // its name
  leader: "",
  version: "", // of the program that answered last
  slow: 0, // how many reads have waited for longer than usual
  away: "", // of a peer under another host, which answers and has no session of this browser; empty: none is needed
});

let bases: string[] = [location.origin];
const names = new Map<string, string>();

export function enter(phase: Phase, since = Date.now()): void {
  if (net.phase === "signin" && phase !== "live") return;
  if (net.phase === phase) return;
  net.phase = phase;
  net.since = since;
  if (phase === "live") net.away = "";
}

// leave says that the page can go on only at a peer under another host, to which the browser does not send the session.
export function leave(base: string): void {
  net.away = base;
  enter("signin");
}

// following returns where a stream goes, the peer that answered last first.
export function following(): { bases: string[] } {
  const at = Math.max(0, bases.indexOf(net.base));
  return { bases: [...bases.slice(at), ...bases.slice(0, at)] };
}

// know takes the peers of the cluster. The peer that served the page stays the first.
export function know(peers: { name: string; origin: string; self: boolean }[]): void {
  const others: string[] = [];
  for (const p of peers) {
    if (p.self) names.set(net.base || location.origin, p.name);
    names.set(p.origin, p.name);
    if (p.origin !== location.origin && !(p.self && (net.base || location.origin) === location.origin)) others.push(p.origin);
  }
  bases = [location.origin, ...others];
  answeredBy(net.base || location.origin);
}

export function answeredBy(base: string): void {
  net.base = base;
  net.peer = names.get(base) ?? new URL(base).host;
}

// signIn opens a session from a token or a one-time code. The session is a cookie, which the page cannot read; what was given is not kept.
// It returns the user. Peers under other hosts are not asked: their cookies would not come back here.
export async function signIn(given: { token: string } | { code: string }): Promise<string> {
  return (await send<{ name?: string }>("POST", "/session", given, following().bases.filter((b) => !away(b)))).body.name ?? "";
}

// signOut ends the session, in all windows of this browser.
export async function signOut(): Promise<void> {
  await send("DELETE", "/session");
  enter("signin");
}

// handOver returns the address of the page at a peer under another host, signed in there if a peer that has this session can make a code for it.
export async function handOver(base: string, to: string): Promise<string> {
  const there = base + "/ui/login?" + new URLSearchParams({ to }).toString();
  for (const own of bases.filter((b) => !away(b))) {
    try {
      const made = await once<Code>(own, "/session/codes", { method: "POST" }, firstLimit);
      return there + "#code=" + made.body.code;
    } catch { /* that peer does not answer, or the session has ended */ }
  }
  return there;
}

// Limits hold until an answer begins. One that has begun may take any time, as long as it is not silent.
const readLimit = 60_000;
const writeLimit = 8000; // while other peers may be asked
const lastWriteLimit = 25_000;
const firstLimit = 2500; // before another peer is asked, too
const againAfter = 10_000;
const silence = 15_000;

// slowAfter is after which time a read is called slow, in ms.
export const slowAfter = 4000;

type Options = { method?: string; body?: unknown; signal?: AbortSignal; known?: string; begun?: () => void };

export type Answer<T> = { body: T; tag: string; index: number; status: number };

// get reads, from the peer that begins to answer first. With known, an entity tag, the body is undefined if it is the same as then.
export async function get<T>(path: string, signal?: AbortSignal, known = ""): Promise<Answer<T>> {
  // The first is asked twice: a connection may have died without a word, as while a computer slept.
  const bases = following().bases, order = [...bases, bases[0]!];
  return race(
    order.map((base) => (begun, stop) => once<T>(base, path, { signal: signal ? AbortSignal.any([signal, stop]) : stop, known, begun }, readLimit)),
    (i) => (i < bases.length - 1 ? firstLimit * (i + 1) : againAfter),
    (e, i) => signal?.aborted === true || (e instanceof Failure && !passing(e) && !(e.status === 401 && away(order[i]!))),
  );
}

// passing reports whether another peer, or the same one later, may answer.
function passing(f: Failure): boolean {
  return f.status === 0 || f.status === 502 || f.status === 503 || f.status === 504;
}

// sent is when this window last changed something, by the browser's clock: what it changes is read again without delay.
export const sent = { at: 0 };

// send changes something. It is tried for up to 30 s under one key at all peers, while none answers or the cluster has no leader.
export async function send<T>(method: string, path: string, body?: unknown, only?: string[]): Promise<Answer<T>> {
  const key = uuidv7(), until = Date.now() + 30_000;
  for (let tries = 0; ; tries++) {
    const order = only ?? following().bases;
    try {
      const done = await once<T>(order[tries % order.length]!, path, { method, body }, order.length > 1 ? writeLimit : lastWriteLimit, key);
      sent.at = Date.now();
      return done;
    } catch (e) {
      if (!(e instanceof Failure) || !passing(e) || e.code === "requests_full" || Date.now() > until) throw e;
    }
    if (tries >= order.length - 1) await pause(backoff(tries, 2000));
  }
}

async function once<T>(base: string, path: string, o: Options, limit: number, key = ""): Promise<Answer<T>> {
  const stop = new AbortController(), end = (): void => stop.abort();
  const timer = setTimeout(end, limit);
  o.signal?.addEventListener("abort", end, { once: true });
  const headers: Record<string, string> = {};
  if (o.known) headers["If-None-Match"] = o.known;
  if (key) headers["Idempotency-Key"] = key;
  if (o.body !== undefined) headers["Content-Type"] = "application/json";
  const sent = Date.now();
  try {
    const r = await fetch(base + path, { method: o.method ?? "GET", headers, body: o.body === undefined ? undefined : JSON.stringify(o.body), cache: "no-store", credentials: "include", signal: stop.signal });
    clearTimeout(timer);
    note(base, r, sent);
    o.begun?.();
    const tag = r.headers.get("ETag") ?? "", index = Number(r.headers.get("X-Berth-Index") ?? 0);
    if (r.status === 304) return { body: undefined as T, tag, index, status: 304 };
    const said = await text(r, silence);
    if (!r.ok) throw failure(r.status, said, key);
    return { body: (said ? JSON.parse(said) : undefined) as T, tag, index, status: r.status };
  } catch (e) {
    if (e instanceof Failure) throw e;
    if (o.signal?.aborted) throw e;
    throw new Failure(0, undefined, "no answer from " + (names.get(base) ?? base), key);
  } finally {
    clearTimeout(timer);
    o.signal?.removeEventListener("abort", end);
  }
}

function note(base: string, r: Response, sent: number): void {
  hear(sent, r.headers.get("X-Berth-Time"));
  net.version = r.headers.get("X-Berth-Version") ?? net.version;
  net.leader = r.headers.get("X-Berth-Leader") ?? "";
  answeredBy(base);
  if (r.status === 401 && !away(base)) enter("signin");
}

function failure(status: number, text: string, key: string): Failure {
  try {
    const p = JSON.parse(text) as Problem;
    const fields = (p.errors ?? []).map((e) => `${e.field}: ${e.message}`).join("; ");
    return new Failure(status, p, (p.detail || p.title) + (fields ? ` (${fields})` : ""), key);
  } catch {
    return new Failure(status, undefined, `the answer is ${status}`, key);
  }
}

// open starts a long answer, such as output that is followed, at the peer that answered last or the next.
export async function open(path: string, signal: AbortSignal): Promise<Response> {
  let failed: unknown;
  for (const base of following().bases) {
    try {
      const r = await fetch(base + path, { cache: "no-store", credentials: "include", signal });
      note(base, r, Date.now());
      if (r.ok) return r;
      const f = failure(r.status, await r.text(), "");
      if (!passing(f)) throw f;
      failed = f;
    } catch (e) {
      if (signal.aborted || (e instanceof Failure && !passing(e))) throw e;
      failed = e;
    }
  }
  throw failed;
}
