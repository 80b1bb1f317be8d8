// backoff returns how long to wait before a try, in ms: the doubling of 100 ms up to a limit, half of it by chance, so that many pages do not ask at once.
export function backoff(tries: number, limit = 5000): number {
  const whole = Math.min(limit, 100 * 2 ** Math.min(tries, 10));
  return whole / 2 + Math.random() * (whole / 2);
}

// pause waits, and fails once the signal does.
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((done, fail) => {
    if (signal?.aborted) return fail(signal.reason as Error);
    const timer = setTimeout(() => { signal?.removeEventListener("abort", stop); done(); }, ms);
    const stop = (): void => { clearTimeout(timer); fail(signal?.reason as Error); };
    signal?.addEventListener("abort", stop, { once: true });
  });
}

// away reports whether a peer is under another host than the page: the browser sends it no session.
export function away(base: string): boolean {
  return new URL(base).hostname !== location.hostname;
}
