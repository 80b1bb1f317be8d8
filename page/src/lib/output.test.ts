import { expect, test } from "vitest";
import { Failure } from "./failure.ts";
import { before, read, search, type Phase, type Start } from "./output.ts";

const encode = (s: string): Uint8Array<ArrayBuffer> => new TextEncoder().encode(s);

// node answers for the output of a rank: pieces of an answer, after which the connection breaks or ends.
function node(whole: () => string, ended: () => boolean, cut: (request: number) => number) {
  const asked: string[] = [];
  const open = async (path: string): Promise<Response> => {
    asked.push(path);
    const q = new URLSearchParams(path.split("?")[1]);
    const text = encode(whole());
    let at = Number(q.get("offset") ?? -1);
    if (at < 0) {
      const lines = whole().split("\n");
      at = encode(lines.slice(0, Math.max(0, lines.length - 1 - Number(q.get("tail")))).map((l) => l + "\n").join("")).length;
    }
    const rest = text.slice(at), broken = cut(asked.length);
    const body = new ReadableStream<Uint8Array>({
      start(c) {
        if (rest.length > 0) c.enqueue(rest.slice(0, broken));
        if (broken < rest.length) setTimeout(() => c.error(new TypeError("network error")), 0);
        else c.close();
      },
    });
    return new Response(body, { headers: { "X-Berth-Log-Offset": String(at), "X-Berth-Log-Size": String(text.length), "X-Berth-Log-Ended": String(ended()) } });
  };
  return { open, asked };
}

function sink() {
  const s = { text: "", base: -1, gaps: 0, only: "", phases: [] as Phase[] };
  return {
    s,
    begin: (offset: number) => { [s.base, s.text] = [offset, ""]; },
    add: (d: Uint8Array) => { s.text += new TextDecoder().decode(d); },
    gap: (n: number) => { s.gaps += n; },
    end: (d: Uint8Array) => { s.only = new TextDecoder().decode(d); },
    is: (p: Phase) => { s.phases.push(p); },
  };
}

const never = new AbortController().signal;

test("output goes on behind the last byte after each break", async () => {
  const lines = Array.from({ length: 50 }, (_, i) => `line ${i}\n`).join("");
  const n = node(() => lines, () => true, (request) => (request < 5 ? 37 : Infinity)), to = sink();
  await read(n.open, "/jobs/1/logs?stream=stdout", { tail: 40 }, true, to, never);
  expect(to.s.text).toBe(lines.split("\n").slice(10).join("\n"));
  expect(to.s.base).toBe(lines.indexOf("line 10\n"));
  expect(n.asked.length).toBe(5);
  expect(n.asked[0]).toBe("/jobs/1/logs?stream=stdout&tail=40&bytes=true&follow=true");
  expect(n.asked[1]).toBe(`/jobs/1/logs?stream=stdout&offset=${to.s.base + 37}&follow=true`);
  expect(to.s.phases.filter((p) => p === "interrupted").length).toBe(4);
  expect(to.s.phases.at(-1)).toBe("ended");
});

test("a stream that ends is asked for again until the rank has ended", async () => {
  let text = "a\n";
  const n = node(() => text, () => text.length > 4, () => Infinity), to = sink();
  const add = to.add;
  to.add = (d) => { add(d); text += "b\n"; if (text.length > 6) text = text.slice(0, 6); };
  await read(n.open, "/l?x=1", { tail: 10 }, true, to, never);
  expect(to.s.text).toBe("a\nb\nb\n");
});

test("a part is no longer than asked for, and what was not kept is said", async () => {
  const to = sink();
  await read(node(() => "0123456789", () => false, () => Infinity).open, "/l?x=1", { offset: 2, most: 5 }, true, to, never);
  expect([to.s.text, to.s.phases.at(-1)]).toEqual(["23456", "part"]);

  const answers = [{ at: 0, text: "first", size: 25 }, { at: 20, text: "after", size: 25 }], gap = sink();
  const open = async (): Promise<Response> => {
    const a = answers.shift()!;
    return new Response(a.text, { headers: { "X-Berth-Log-Offset": String(a.at), "X-Berth-Log-Size": String(a.size), "X-Berth-Log-Ended": "true" } });
  };
  await read(open, "/l?x=1", { offset: 0 }, false, gap, never);
  expect([gap.s.text, gap.s.gaps]).toEqual(["firstafter", 15]);
});

test("while the node does not answer the end that peers keep is shown, and a refusal ends it", async () => {
  const to = sink(), stop = new AbortController();
  const open = async (path: string): Promise<Response> => {
    if (path.endsWith("&tail=5000")) return new Response("the end");
    throw new Failure(502, { code: "node_unreachable" } as never, "node1 does not answer");
  };
  to.is = (p) => { if (p === "interrupted") stop.abort(); };
  await read(open, "/l?x=1", { tail: 10 } satisfies Start, true, to, stop.signal);
  expect(to.s.only).toBe("the end");
  const refused = async (): Promise<Response> => { throw new Failure(404, undefined, "no such job"); };
  await expect(read(refused, "/l?x=1", { tail: 10 }, true, sink(), never)).rejects.toThrow("no such job");
});

test("a search goes over all pages of matches", async () => {
  const pages: Record<string, [string, string]> = { "0": ["10:abc\n30:abd\n", "50"], "50": ["60:ab:x\n90:ab\n", "100"], "100": ["", "100"] };
  const open = async (path: string): Promise<Response> => {
    const q = new URLSearchParams(path.split("?")[1]);
    expect(q.get("grep")).toBe("a&b");
    const [text, next] = pages[q.get("offset")!]!;
    return new Response(text, { headers: { "X-Berth-Log-Next": next } });
  };
  expect(await search(open, "/l?x=1", "a&b", false, 1000, never)).toBe(10);
  expect(await search(open, "/l?x=1", "a&b", true, 1000, never)).toBe(90);
  expect(await search(open, "/l?x=1", "a&b", true, 70, never)).toBe(60);
  expect(await search(open, "/l?x=1", "a&b", true, 5, never)).toBe(-1);
});

test("the piece ahead of a byte has an offset", async () => {
  const open = async (path: string): Promise<Response> => {
    expect(path).toBe("/l?x=1&before=500&limit_bytes=100");
    return new Response("abc", { headers: { "X-Berth-Log-Offset": "497" } });
  };
  const got = await before(open, "/l?x=1", 500, 100, never);
  expect([got.at, new TextDecoder().decode(got.data)]).toEqual([497, "abc"]);
});
