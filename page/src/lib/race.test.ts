import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { race } from "./race.ts";
import { text } from "./body.ts";

beforeEach(() => { vi.useFakeTimers(); });
afterEach(() => { vi.useRealTimers(); });

// peer answers after some time: it begins, and has all of it after some more; negative: it fails then.
function peer(name: string, begins: number, takes = 0) {
  const p = {
    asked: 0, ended: false,
    ask: (begun: () => void, signal: AbortSignal) => new Promise<string>((done, fail) => {
      p.asked++;
      signal.addEventListener("abort", () => { p.ended = true; fail(new Error("ended")); });
      setTimeout(() => {
        if (begins < 0) return fail(new Error(name + " fails"));
        if (signal.aborted) return;
        begun();
        setTimeout(() => { if (takes < 0) fail(new Error(name + " breaks")); else done(name); }, Math.abs(takes));
      }, Math.abs(begins));
    }),
  };
  return p;
}

const go = async (...peers: ReturnType<typeof peer>[]): Promise<string> => {
  const got = race(peers.map((p) => p.ask), () => 2500, (e) => (e as Error).message.includes("final")).catch((e: Error) => e.message);
  await vi.runAllTimersAsync();
  return got;
};

test("a slow answer counts, and another peer is asked meanwhile", async () => {
  const [a, b] = [peer("a", 7000), peer("b", 9000)];
  expect(await go(a, b)).toBe("a");
  expect([a.asked, b.asked, b.ended]).toEqual([1, 1, true]);
  expect(await go(peer("a", 20_000), peer("b", 10))).toBe("b");
});

test("once an answer has begun no other peer is asked, however long it takes", async () => {
  const [a, b] = [peer("a", 100, 60_000), peer("b", 10)];
  expect(await go(a, b)).toBe("a");
  expect(b.asked).toBe(0);
});

test("what fails or breaks in the middle is asked of the next peer, and an error that counts ends it", async () => {
  expect(await go(peer("a", -5), peer("b", 10))).toBe("b");
  expect(await go(peer("a", 5, -100), peer("b", 10))).toBe("b");
  expect(await go(peer("a", -5), peer("b", -5))).toBe("b fails");
  const b = peer("b", 10);
  expect(await go(peer("final", -5), b)).toBe("final fails");
  expect(b.asked).toBe(0);
});

test("a body may take any time as long as it goes on, and not be silent", async () => {
  const body = (pieces: number, every: number): ReadableStream<Uint8Array> => {
    let n = 0, gone = false;
    const next = (c: ReadableStreamDefaultController<Uint8Array>): void => {
      if (gone) return;
      if (n++ < pieces) c.enqueue(new TextEncoder().encode("ä"));
      else c.close();
    };
    return new ReadableStream({ pull: (c) => new Promise((done) => setTimeout(() => { next(c); done(); }, every)), cancel: () => { gone = true; } });
  };
  const read = async (r: Response): Promise<string> => {
    const got = text(r, 15_000).catch((e: Error) => e.message);
    await vi.runAllTimersAsync();
    return got;
  };
  expect(await read(new Response(body(20, 10_000)))).toBe("ä".repeat(20));
  expect(await read(new Response(body(2, 16_000)))).toMatch(/silent/);
  expect(await read(new Response(null))).toBe("");
});
