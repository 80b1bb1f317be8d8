// What the page hears about changes, from one stream for all windows of a browser where it has SharedWorker, and else from one of its own while it is shown.
import { answeredBy, enter, following, get, know, leave, net } from "./net.svelte.ts";
import { follow, type Heard } from "./stream.ts";
import type { Peers, Whoami } from "./types.ts";
import type { ToWorker } from "./worker.ts";
import workerFile from "./worker.ts?sharedworker&url";

// topics are the log indices at which parts of the state have last changed.
export const topics = $state<Record<string, number>>({});

// me is the caller; the user is empty without authentication.
export const me = $state<{ caller: Whoami | undefined; user: string; cluster: string }>({ caller: undefined, user: "", cluster: "" });

function heard(h: Heard): void {
  switch (h.kind) {
    case "changed":
      for (const [name, index] of Object.entries(h.changed.topics)) {
        if (topics[name] !== index) topics[name] = index;
      }
      answeredBy(h.base);
      if (h.version) net.version = h.version;
      if (h.leader) net.leader = h.leader;
      lives();
      break;
    case "alive":
      lives();
      break;
    case "lost":
      if (h.away && Date.now() - h.since > 2000) leave(h.away);
      else enter("lost", h.since);
      break;
    case "denied":
      enter("signin");
  }
}

// lives notes that the stream goes on. After a sign-in, in this window or in another, the caller may be another one.
function lives(): void {
  if (net.phase === "signin") learn().then(() => enter("live"), () => undefined);
  else enter("live");
}

let stop: (() => void) | undefined;
let renew: (() => void) | undefined;

// begin starts to hear changes, and learns the peers. It may be called again, after a sign-in.
export async function begin(): Promise<void> {
  stop?.();
  stop = typeof SharedWorker === "undefined" ? alone() : together();
  await learn();
}

// learn asks for the peers and the caller.
export async function learn(): Promise<void> {
  const [peers, caller] = await Promise.all([get<Peers>("/cluster/peers"), get<Whoami>("/whoami")]);
  know(peers.body.peers.map((p) => ({ name: p.name, origin: originOf(p), self: p.self === true })));
  me.caller = caller.body;
  me.user = caller.body.authentication ? caller.body.actor.replace(/^user:/, "") : "";
  me.cluster = peers.body.cluster_id;
  net.leader = peers.body.leader ?? "";
  renew?.();
}

// originOf returns where browsers reach a peer: only on loopback without TLS.
function originOf(p: { address: string; public_url?: string }): string {
  if (p.public_url) return p.public_url.replace(/\/$/, "");
  const host = p.address.replace(/:\d+$/, "").replace(/^\[|\]$/g, "");
  return (/^(localhost|127\.[\d.]+|::1)$/.test(host) ? "http://" : "https://") + p.address;
}

type Policy = { createScriptURL(url: string): string };
type Factory = { createPolicy(name: string, rules: { createScriptURL(url: string): string }): Policy };

// script returns the URL of one of the page's own scripts in the form that the browser accepts for a worker.
function script(url: string): string {
  const own = new URL(url, location.href);
  if (own.origin !== location.origin) throw new Error("a script of another site: " + own.href);
  const factory = (globalThis as unknown as { trustedTypes?: Factory }).trustedTypes;
  policy ??= factory?.createPolicy("berth", { createScriptURL: (u) => u });
  return policy ? policy.createScriptURL(own.href) : own.href;
}

let policy: Policy | undefined;

function together(): () => void {
  const worker = new SharedWorker(script(workerFile), { type: "module", name: "berth" });
  const say = (kind: "hello"): void => worker.port.postMessage({ kind, ...following() } satisfies ToWorker);
  worker.port.onmessage = (m: MessageEvent<Heard>) => heard(m.data);
  say("hello");
  renew = () => say("hello");
  const bye = (): void => worker.port.postMessage({ kind: "bye" } satisfies ToWorker);
  const shown = (e: PageTransitionEvent): void => { if (e.persisted) say("hello"); };
  addEventListener("pagehide", bye);
  addEventListener("pageshow", shown);
  return () => {
    bye();
    removeEventListener("pagehide", bye);
    removeEventListener("pageshow", shown);
  };
}

function alone(): () => void {
  let running: AbortController | undefined;
  const turn = (): void => {
    running?.abort();
    running = document.hidden ? undefined : new AbortController();
    if (running) void follow(following, heard, running.signal);
  };
  document.addEventListener("visibilitychange", turn);
  turn();
  return () => {
    running?.abort();
    document.removeEventListener("visibilitychange", turn);
  };
}
