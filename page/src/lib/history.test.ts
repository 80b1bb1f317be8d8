import { describe, expect, test } from "vitest";
import { begun, highest, historyPath, isEmpty, newest, outline, picked } from "./history.ts";
import type { ClusterHistory } from "./types.ts";

const x = (i: number): number => i * 10, y = (v: number): number => 100 - v;

describe("outlines", () => {
  test("a line ends at a gap and begins again behind it", () => {
    expect(outline([1, 2, null, null, 3, 5], x, y)).toBe("M0.0,99.0L10.0,98.0M40.0,97.0L50.0,95.0");
    expect(outline([null, null], x, y)).toBe("");
    expect(outline([], x, y)).toBe("");
  });

  test("a step alone is seen, and a level has two ends only", () => {
    expect(outline([null, 4, null], x, y)).toBe("M10.0,96.0L11.0,96.0");
    expect(outline([4, 4, 4, 4, 5], x, y)).toBe("M0.0,96.0L30.0,96.0L40.0,95.0");
  });

  test("an area lies on the values below, and is nowhere where these are missing", () => {
    expect(outline([1, 2], x, y, [10, 20])).toBe("M0.0,89.0L10.0,78.0L10.0,80.0L0.0,90.0Z");
    expect(outline([1, 1, 1], x, y, [0, null, 0])).toBe("M0.0,99.0L1.0,99.0L1.0,100.0L0.0,100.0ZM20.0,99.0L21.0,99.0L21.0,100.0L20.0,100.0Z");
    expect(outline([1, 1], x, y, [0])).toBe("M0.0,99.0L1.0,99.0L1.0,100.0L0.0,100.0Z");
  });
});

test("the newest and the highest value, and the rows of a table", () => {
  expect([newest([[1, null], [2, 3, null]]), newest([[null], []]), newest([])]).toEqual([1, -1, -1]);
  expect([highest([3, null, 3, 1]), highest([null]), highest([0])]).toEqual([2, -1, 0]);
  expect(picked(1439)).toHaveLength(24);
  expect(picked(1439).slice(-2)).toEqual([1379, 1439]);
  expect([picked(2), picked(-1)]).toEqual([[0, 1, 2], []]);
});

test("a history begins with its first value, and has an hour at least", () => {
  const of = (waits: (number | null)[]): ClusterHistory => ({ start: "2026-01-01T00:00:00Z", step: 60, series: { jobs_waiting: waits, nodes: waits } });
  const none = Array.from({ length: 1000 }, () => null);
  const long = begun(of([...none, ...Array.from({ length: 440 }, () => 1)]));
  expect([long.start, long.series.jobs_waiting?.length, long.series.nodes?.length]).toEqual(["2026-01-01T16:40:00.000Z", 440, 440]);
  expect(begun(of([...none, 1])).series.jobs_waiting).toHaveLength(60);
  expect(begun(of([1, 2])).series.jobs_waiting).toEqual([1, 2]);
  expect([isEmpty(of(none)), isEmpty(of([null, 0]))]).toEqual([true, false]);
});

test("a history is asked for by whole minutes, as many as there are in the span", () => {
  const path = historyPath(Date.parse("2026-01-02T00:00:30Z"), 60, "nodes");
  expect(path).toBe("/cluster/history?since=2026-01-01T23%3A01%3A00.000Z&until=2026-01-02T00%3A01%3A00.000Z&series=nodes");
  expect(historyPath(Date.parse("2026-01-02T00:00:05Z"), 60)).toContain("until=2026-01-02T00%3A00%3A00.000Z");
});
