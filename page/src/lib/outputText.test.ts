import { describe, expect, test } from "vitest";
import { longest, marked, newest, plain, spans, visible } from "./ansi.ts";
import { Failure } from "./failure.ts";
import { Finder } from "./finder.ts";
import { Log } from "./log.ts";
import { readable } from "./sgr.ts";
import { readAll } from "./together.ts";

const bytesOf = (s: string): Uint8Array => new TextEncoder().encode(s);
const text = (line: string): string => spans(line).map((s) => s.text).join("");
const texts = (log: Log, from: number, to: number): string[] => log.read(from, to).map((l) => l.text);

describe("output", () => {
  test("keeps colours and leaves out every other sequence", () => {
    expect(spans("a\x1b[1;31mb\x1b[0mc")).toEqual([{ text: "a", style: "" }, { text: "b", style: "c1 bold" }, { text: "c", style: "" }]);
    expect(text("\x1b]0;title\x07x\x1b]8;;http://evil\x1b\\y\x1b[2J\x1b[?1049h\x1bPq#0\x1b\\z\x1bc\x1b(0")).toBe("xyz");
  });

  test("has the 16 colours, 256 and mixtures, for text and background, and the inverse", () => {
    expect(spans("\x1b[38;5;9mx\x1b[97;3;9my").map((s) => s.style)).toEqual(["c1", "c7 slant strike"]);
    expect(spans("\x1b[38;5;196mx")[0]!.color).toBe(readable([255, 0, 0]));
    expect(spans("\x1b[38;2;0;95;0mx\x1b[38:2::0:95:0my\x1b[38;5;22mz").map((s) => s.color)).toEqual(Array(3).fill(readable([0, 95, 0])));
    expect(spans("\x1b[48;2;250;250;10mx")[0]).toEqual({ text: "x", style: "", color: "#000", back: "rgb(250 250 10)" });
    expect(spans("\x1b[44mx\x1b[49my").map((s) => s.back)).toEqual(["rgb(10 87 164)", undefined]);
    expect(spans("\x1b[7mx\x1b[27my").map((s) => s.style)).toEqual(["inverse", ""]);
    expect(spans("\x1b[7;31mx")[0]!.back).toBe("rgb(179 38 30)");
  });

  test("mixtures can be read in the light and in the dark", () => {
    const parts = /light-dark\(rgb\((.*)\), rgb\((.*)\)\)/;
    const l = (c: string): number => c.split(" ").map((v) => (Number(v) / 255 <= 0.04045 ? Number(v) / 255 / 12.92 : ((Number(v) / 255 + 0.055) / 1.055) ** 2.4)).reduce((s, v, i) => s + v * [0.2126, 0.7152, 0.0722][i]!, 0);
    for (const c of [[255, 255, 0], [0, 0, 0], [255, 255, 255], [0, 0, 255], [128, 128, 128]] as [number, number, number][]) {
      const [, light, dark] = parts.exec(readable(c))!;
      expect(1.02 / (l(light!) + 0.05)).toBeGreaterThanOrEqual(4.5);
      expect((l(dark!) + 0.05) / 0.056).toBeGreaterThanOrEqual(4.5);
    }
  });

  test("a colour lasts over the ends of lines, within a block and into the next", () => {
    const log = new Log();
    log.add(bytesOf("\x1b[33ma\nb\x1b[0m\nc\n" + "x\n".repeat(252) + "\x1b[31mred\nstill\n"));
    const look = (n: number): string => spans(log.read(n, n + 1)[0]!.text, log.stylesAt(n, n + 1)[0]).map((s) => s.text + ":" + s.style).join();
    expect([look(0), look(1), look(2), look(255), look(256)]).toEqual(["a:c3", "b:c3", "c:", "red:c1", "still:c1"]);
  });

  test("shows control and direction characters as signs", () => {
    expect(visible("a\x00\x07\x7f")).toBe("a␀␇␡");
    expect(visible("x\u202egnp")).toBe("x⟨U+202E⟩gnp");
    expect(text("half \x1b[")).not.toContain("\x1b");
  });

  test("shows what a progress bar shows in the end, however many updates it had, and cuts long lines", () => {
    expect(text("10%\r50%\r100%\r")).toBe("100%");
    const bar = Array.from({ length: 3000 }, (_, i) => `Epoch 1: ${"#".repeat(i / 60)} ${i + 1}/3000`).join("\r");
    expect(text(bar)).toMatch(/^Epoch 1: #+ 3000\/3000$/);
    expect(newest(bar + "\r\r")).toMatch(/ 3000\/3000$/);
    expect(spans("\x1b[32m1%\r2%")).toEqual([{ text: "2%", style: "c2" }]);
    expect(text("x".repeat(longest + 10))).toMatch(/^x+ … 10 more characters$/);
  });

  test("marks every occurrence of a text, over pieces of several colours", () => {
    const pieces = marked(spans("no ERR\x1b[31mor, error\x1b[0m."), "error");
    expect(pieces.map((p) => (p.found ? `[${p.text}]` : p.text)).join("")).toBe("no [ERR][or], [error].");
    expect(pieces.map((p) => p.style)).toEqual(["", "", "c1", "c1", "c1", ""]);
    expect(marked(spans("aaaa"), "aa").filter((p) => p.found).length).toBe(2);
    expect(marked(spans("none"), "x")).toEqual(spans("none"));
    expect(plain("\x1b[1mold\rn\x1b[0mew")).toBe("new");
  });
});

describe("the log", () => {
  test("finds each line, however the bytes come", () => {
    const want = Array.from({ length: 2000 }, (_, i) => `line ${i} ${i % 7 === 0 ? "ä😀" : ""}`);
    const data = bytesOf(want.join("\n") + "\n");
    for (const step of [1, 3, 1000, data.length]) {
      const log = new Log();
      for (let i = 0; i < data.length; i += step) log.add(data.subarray(i, i + step));
      expect(log.lines).toBe(2000);
      expect(texts(log, 0, 2000)).toEqual(want);
      expect(texts(log, 700, 703)).toEqual(want.slice(700, 703));
    }
  });

  test("takes earlier output ahead of what there is", () => {
    const log = new Log();
    log.add(bytesOf("three\nfo"), 5000);
    const both = log.with(bytesOf("one\ntwo\n"));
    both.add(bytesOf("ur\n"));
    expect(texts(both, 0, 9)).toEqual(["one", "two", "three", "four"]);
    expect([both.size, both.cameAt(1), both.cameAt(2)]).toEqual([19, 0, 5000]);
  });

  test("has an unfinished last line, and empty lines", () => {
    const log = new Log();
    log.add(bytesOf("\n\na"));
    expect([log.lines, texts(log, 0, 9)]).toEqual([3, ["", "", "a"]]);
    log.add(bytesOf("b\nc"));
    expect(texts(log, 0, 9)).toEqual(["", "", "ab", "c"]);
  });

  test("drops the oldest beyond its bound, and still numbers lines rightly", () => {
    const log = new Log(200_000);
    for (let i = 0; i < 30_000; i++) log.add(bytesOf(`line ${i}\n`));
    expect(log.lines).toBe(30_000);
    expect(log.dropped).toBeGreaterThan(0);
    expect(texts(log, 29_999, 30_000)).toEqual(["line 29999"]);
    expect(texts(log, 0, log.dropped + 1)).toEqual([`line ${log.dropped}`]);
  });

  test("of a line of megabytes only the newest state is decoded, and lines around it are whole", () => {
    const log = new Log(), decode = TextDecoder.prototype.decode;
    let decoded = 0;
    TextDecoder.prototype.decode = function (data?: AllowSharedBufferSource, o?: TextDecodeOptions) {
      decoded += (data as Uint8Array | undefined)?.length ?? 0;
      return decode.call(this, data, o);
    };
    try {
      log.add(bytesOf("before\n"));
      for (let i = 0; i < 200_000; i++) log.add(bytesOf(`\r${String(i).padStart(40)}/200000`));
      for (let i = 0; i < 50; i++) {
        log.add(bytesOf(`\rstep ${i}`));
        expect(texts(log, 0, 9)).toEqual(["before", `step ${i}`]);
      }
      expect(decoded).toBeLessThan(1 << 20);
      log.add(bytesOf("\r\nafter\n" + "y".repeat(5 << 20) + "\nlast"));
      expect(texts(log, 0, 3)).toEqual(["before", "step 49", "after"]);
      const [long, last] = log.read(3, 9);
      expect([long!.text.length + long!.more, last!.text]).toEqual([5 << 20, "last"]);
      expect(decoded).toBeLessThan(3 << 20);
    } finally {
      TextDecoder.prototype.decode = decode;
    }
  });

  test("knows when lines came that came while it was followed", () => {
    const log = new Log();
    log.add(bytesOf("a\nb\nc"));
    log.add(bytesOf("c\nd\n"), 1000);
    log.add(bytesOf("e\n"), 1050);
    log.add(bytesOf("f\n"), 2000);
    log.add(bytesOf("g\n"));
    expect([0, 1, 2, 3, 4, 5, 6].map((i) => log.cameAt(i))).toEqual([0, 0, 0, 1000, 1000, 2000, 0]);
  });
});

describe("a search", () => {
  test("finds all lines with a text, those that come later and the one that grows", () => {
    const log = new Log();
    log.add(bytesOf("An Error\nnone\n\x1b[31mer\x1b[0mror\nerror 1\rfine\nerr"));
    const f = new Finder(log, "error");
    while (!f.step(1));
    expect(f.lines).toEqual([0, 2]);
    log.add(bytesOf("or\nx\nerror"));
    while (!f.step(1));
    expect(f.lines).toEqual([0, 2, 4, 6]);
    while (!f.step(1));
    expect(f.lines).toEqual([0, 2, 4, 6]);
    expect([f.neighbour(-1, 1), f.neighbour(2, 1), f.neighbour(6, 1), f.neighbour(2, -1), f.neighbour(0, -1)]).toEqual([0, 2, -1, 0, -1]);
  });

  test("forgets lines that are gone", () => {
    const log = new Log(100_000), f = new Finder(log, "line");
    for (let i = 0; i < 30_000; i++) log.add(bytesOf(`line ${i}\n`));
    while (!f.step(5));
    expect([f.lines[0], f.lines.length]).toEqual([log.dropped, log.lines - log.dropped]);
  });
});

test("several outputs come as one, line by line, until all have ended", async () => {
  const out: Record<string, string> = { a: "a1\na2\n", b: "b1\n10%\r20%" };
  let asked = 0, text = "", rest: string[] = [], phase = "";
  const lives: boolean[] = [];
  const open = async (path: string): Promise<Response> => {
    const q = new URLSearchParams(path.split("?")[1]), whole = out[q.get("x")!];
    if (whole === undefined) throw new Failure(404, undefined, "it never wrote");
    const at = Number(q.get("offset") ?? 0), ended = asked >= 4;
    if (++asked === 4) Object.assign(out, { a: out.a + "a3\n", b: out.b + "\r30%\nend" });
    return new Response(whole.slice(at), { headers: { "X-Berth-Log-Offset": String(at), "X-Berth-Log-Size": String(whole.length), "X-Berth-Log-Ended": String(ended) } });
  };
  await readAll(open, () => [{ name: "A", path: "/l?x=a" }, { name: "B", path: "/l?x=b" }, { name: "C", path: "/l?x=c" }], () => asked < 6, {
    add: (d, live) => { text += new TextDecoder().decode(d); lives.push(live); },
    open: (l) => { rest.push(...l.map((x) => x.name + " " + x.text)); },
    is: (p) => { phase = p; },
  }, new AbortController().signal, 0);
  expect(text.split("\n").map(plain)).toEqual(["A │ a1", "A │ a2", "B │ b1", "A │ a3", "B │ 30%", "B │ end", ""]);
  expect(rest[0]).toBe("B 20%");
  expect([phase, lives[0], lives.at(-1)]).toEqual(["ended", false, true]);
});
