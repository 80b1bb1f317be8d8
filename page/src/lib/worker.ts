// One stream of changes for all windows of a browser: over HTTP/1.1 a browser has six connections to a peer, and each stream takes one.
import { follow, type Follow, type Heard } from "./stream.ts";

export type ToWorker = { kind: "hello" } & Follow | { kind: "bye" };

const ports = new Set<MessagePort>();
const last = new Map<string, Heard>();
let peers: Follow = { bases: [] };
let running: AbortController | undefined;

function tell(h: Heard): void {
  if (h.kind === "changed") last.delete("lost");
  if (h.kind === "denied") running = undefined;
  last.set(h.kind, h);
  for (const p of ports) p.postMessage(h);
}

function start(): void {
  running?.abort();
  running = new AbortController();
  last.clear();
  void follow(() => peers, tell, running.signal);
}

(globalThis as unknown as { onconnect: (e: MessageEvent) => void }).onconnect = (e) => {
  const port = e.ports[0]!;
  ports.add(port);
  port.onmessage = (m: MessageEvent<ToWorker>) => {
    const to = m.data;
    if (to.kind === "bye") {
      ports.delete(port);
      if (ports.size === 0) {
        running?.abort();
        running = undefined;
      }
      return;
    }
    peers = { bases: to.bases };
    if (!running) start();
    else for (const h of last.values()) port.postMessage(h);
  };
};
