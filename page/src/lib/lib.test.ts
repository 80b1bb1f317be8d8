import { describe, expect, test } from "vitest";
import description from "../../openapi.json" with { type: "json" };
import { bytes, duration, isSet, relative } from "./format.ts";
import { kindOf, level, spread } from "./gpus.ts";
import { uuidv7 } from "./ids.ts";
import { Painter, cellsOf, place, type Palette } from "./map.ts";
import { pages } from "./pages.ts";
import { backoff } from "./pause.ts";
import { Order, between } from "./rows.ts";
import { parse } from "./stream.ts";
import type { GPU, Node, Samples } from "./types.ts";
import { brief, exitText, reasonBrief, reasonText, reasons } from "./words.ts";

test("durations are never negative and have two units", () => {
  expect([-5, 0, 59.4, 61, 600, 3660, 172800, 180000].map(duration)).toEqual(["0 s", "0 s", "59 s", "1 min 1 s", "10 min", "1 h 01 min", "2 d", "2 d 2 h"]);
  expect(duration(undefined)).toBe("–");
  expect(relative(61_000, 1000)).toBe("in 1 min");
  expect(relative(0, 5000)).toBe("5 s ago");
  expect([bytes(999), bytes(1500), bytes(25_000_000)]).toEqual(["999 B", "1.5 kB", "25 MB"]);
  expect([isSet(undefined), isSet("0001-01-01T00:00:00Z"), isSet("2026-01-01T00:00:00Z")]).toEqual([false, false, true]);
});

test("rows keep their places while they are frozen", () => {
  const o = new Order();
  o.take(["1", "2", "3"], false);
  o.take(["3", "1", "4"], true);
  expect(o.ids).toEqual(["1", "2", "3"]);
  expect(o.changed).toBe(3); // 2 has gone, 4 has come, 1 has moved
  o.take(["3", "1", "4"], false);
  expect([o.ids, o.changed]).toEqual([["3", "1", "4"], 0]);
  expect(between(["a", "b", "c", "d"], 2, 1)).toEqual(["b", "c"]);
});

test("GPUs that are held at 0 % are idle", () => {
  const gpu = (state: string, mode?: string): GPU => ({ state, mode }) as GPU;
  const node = { state: "up", gpus: [gpu("allocated"), gpu("allocated"), gpu("free"), gpu("free", "cordoned"), gpu("unhealthy"), gpu("cleaning"), gpu("allocated")] } as Node;
  const samples = { layout: "a", utilization_percent: [80, 0, 0, 0, null, 0, null], idle_held_seconds: [0, 600, null, null, null, null, null], memory_used_gb: [], temperature_celsius: [], power_watts: [] } as unknown as Samples;
  const s = spread([node], samples, "a");
  expect(Object.fromEntries(s.parts.map((p) => [p.kind, p.n]))).toEqual({ work: 1, unknown: 1, idle: 1, free: 1, closed: 1, unhealthy: 1, busyless: 1 });
  expect([s.total, s.utilization, s.overall]).toEqual([7, 40, 16]);
  expect(spread([node], undefined, "a").parts.find((p) => p.kind === "work")!.n).toBe(0); // what was not measured is not said to work
  expect(spread([node], samples, "b").measured).toBe(false); // columns of another layout say nothing of these GPUs
  expect(kindOf({ ...node, state: "draining" }, gpu("free"), { utilization: null, memory: null, temperature: null, power: null, idle: null })).toBe("closed");
  expect([null, 0, 39, 100].map(level)).toEqual([1, 1, 2, 5]);
});

test("events of changes", () => {
  expect(parse('event: changed\ndata: {"index":4,"topics":{"job":4}}')).toEqual({ index: 4, topics: { job: 4 } });
  for (const bad of [": still here", "event: changed\ndata: {", 'event: other\ndata: {"index":4,"topics":{}}', 'event: changed\ndata: {"index":"4"}']) expect(parse(bad)).toBeUndefined();
});

test("keys of changes are UUIDv7 in order of time", () => {
  const a = uuidv7(1000), b = uuidv7(2000);
  expect(a).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  expect(a < b).toBe(true);
  expect(uuidv7(1000)).not.toBe(a);
  for (let i = 0; i < 20; i++) expect(backoff(i, 1000)).toBeLessThanOrEqual(1000);
});

test("all reasons of the API have words", () => {
  expect(reasons).toEqual(description.components.schemas.Job.properties.reason["x-words"]);
  expect(Object.keys(description.components.schemas.Blocker.properties.code["x-words"]).filter((c) => !brief[c])).toEqual([]);
  expect(Object.keys(reasons).filter((c) => !brief[c])).toEqual([]);
  expect([reasonBrief("gpu_fault; gpus"), reasonText("exit code 1; gpus")]).toEqual(["GPU fault; too few free GPUs", "exit code 1; too few GPUs are free"]);
  for (const [code, word] of [[126, "executed"], [127, "not found"], [137, "SIGKILL"], [139, "SIGSEGV"], [143, "SIGTERM"]] as const) expect([reasonText("exit code " + code), exitText(code, undefined)].join()).toMatch(new RegExp(word + ".*" + word));
  expect([exitText(0, 9), exitText(1, 0), exitText(undefined, 0)]).toEqual(["signal 9: killed (SIGKILL), most often for too much main memory", "exit code 1", ""]);
});

describe("the map", () => {
  const palette = Object.fromEntries(["w1", "w2", "w3", "w4", "w5", "idle", "line", "text", "dim", "panel"].map((n) => [n, n])) as Palette;
  const nodes = (used: number[]): Node[] => [{ node_id: "n1", state: "up", gpus: used.map((u, i) => ({ gpu_id: i, uuid: "u" + i, state: u ? "allocated" : "free" })) }] as unknown as Node[];
  const layout = (used: number[], dim = -1) => place(cellsOf(nodes(used), undefined, (_, g) => Number(g.gpu_id) !== dim), () => "", 400, 10);
  // ctx counts what is called of a surface.
  const ctxOf = (calls: Record<string, number>): CanvasRenderingContext2D => new Proxy({}, { get: (_, name: string) => () => { calls[name] = (calls[name] ?? 0) + 1; }, set: () => true }) as CanvasRenderingContext2D;

  test("paints each look once, and then only cells that look different", () => {
    let sprites = 0;
    const painter = new Painter(() => { sprites++; return { canvas: {} as CanvasImageSource, ctx: ctxOf({}) }; });
    const paint = (used: number[], fresh = false, dim = -1, size = palette): Record<string, number> => {
      const calls: Record<string, number> = {};
      painter.paint(ctxOf(calls), layout(used, dim), "work", size, 400, 1, fresh);
      return calls;
    };
    expect(paint([1, 1, 0, 0], true).drawImage).toBe(4);
    expect(sprites).toBe(2);
    expect(paint([1, 1, 0, 0]).drawImage).toBeUndefined();
    expect(paint([1, 0, 0, 0])).toMatchObject({ drawImage: 1, clearRect: 1 });
    expect(paint([1, 0, 0, 0], false, 3)).toMatchObject({ drawImage: 1, clearRect: 1 });
    expect(paint([1, 0, 0, 0], true, 3).drawImage).toBe(4);
    expect(paint([1, 0, 0, 0, 0], false, 3).drawImage).toBe(5);
    expect(paint([1, 0, 0, 0, 0], false, 3, { ...palette, w1: "dark" }).drawImage).toBe(5);
    expect(sprites).toBe(6);
  });
});

test("each page has a path and a key of its own", () => {
  expect(new Set(pages.map((p) => p.path)).size).toBe(pages.length);
  expect(new Set(pages.map((p) => p.key)).size).toBe(pages.length);
});
