import { expect, test } from "vitest";
import { bodyOf, none, placeOf } from "./booking.ts";
import { span } from "./format.ts";
import { afterText, anywhere, barsOf, details, jobLines, nodeLines, ticks } from "./gantt.ts";
import { changed, limitsOf } from "./quota.ts";
import { divide, midnight, spanOf } from "./span.ts";
import { csv } from "./table.ts";
import type { Plan, PlanEntry, Quota, Reservation } from "./types.ts";

const at = (h: number): number => Date.UTC(2026, 2, 1, h), iso = (h: number): string => new Date(at(h)).toISOString();
const range = (h: number): { expected: string; soonest: string; latest: string } => ({ expected: iso(h), soonest: iso(h - 1), latest: iso(h + 1) });
const entry = (id: string, nodes: string[], more: Partial<PlanEntry>): PlanEntry => ({ job_id: id, user: "ann", gpu_count: 2, nodes, ...more });
const booking = (more: Partial<Reservation>): Reservation => ({ reservation_id: "3", kind: "reservation", start: iso(2), end: iso(4), state: "planned", created_by: "user:ann", created_at: iso(0), ...more });

const plan: Plan = {
  at: iso(0), beyond: 0,
  running: [entry("1", ["n1", "n10"], { started_at: iso(-3), end: range(2) }), entry("2", ["n1"], { started_at: iso(-1) })],
  waiting: [entry("4", ["n1"], { start: range(2), end: range(5), pauses: [{ from: iso(3) }] }), entry("5", ["n2"], { start: range(40), end: range(41), user: "bob" }), entry("6", [], { after: "held" })],
};

test("bars that overlap are in lines of their own, nodes in natural order, and reservations before jobs", () => {
  const bars = barsOf(plan, [booking({}), booking({ reservation_id: "9", kind: "maintenance", nodes: ["n2"] }), booking({ state: "over" })], { from: at(-1), to: at(24) });
  expect(nodeLines(bars).map((l) => [l.row, l.first, l.bars.map((b) => b.id)])).toEqual([
    [anywhere, true, ["r3"]], ["n1", true, ["1", "4"]], ["n1", false, ["2"]], ["n2", true, ["r9"]], ["n10", true, ["1"]],
  ]);
  expect(nodeLines(bars, "n10").map((l) => l.row)).toEqual(["n10"]);
  expect(jobLines(bars).map((l) => l.row)).toEqual(["reservation 3", "maintenance 9", "1", "2", "4"]);
});

test("bars are of the range, the user and the node that are asked for", () => {
  const ids = (...a: Parameters<typeof barsOf>): string[] => barsOf(...a).map((b) => b.id);
  expect(ids(plan, [], { from: at(0), to: at(24) })).toEqual(["1", "2", "4"]);
  expect(ids(plan, [], { from: at(10), to: at(60) }, "bob")).toEqual(["5"]);
  expect(ids(plan, [], { from: at(0), to: at(24) }, "", "n10")).toEqual(["1"]);
  expect(ids(undefined, [booking({ user: "ann" })], { from: at(0), to: at(24) }, "bob")).toEqual([]);
});

test("a bar is told in words, with what is not known", () => {
  const [one, two, four] = barsOf(plan, [], { from: at(0), to: at(24) }), write = (t: number): string => new Date(t).toISOString().slice(11, 16);
  expect(details(one!, write)).toBe("Job 1 · ann · 2 GPUs · n1 n10 · runs since 21:00 · ends 02:00 (soonest 01:00, latest 03:00)");
  expect(details(two!, write)).toContain("end not known");
  expect(details(four!, write)).toContain("starts 02:00 (soonest 01:00, latest 03:00) · ends 05:00 (soonest 04:00, latest 06:00) · suspended 03:00");
  expect([afterText(plan.waiting[2]!), afterText(entry("7", [], { late: true })), afterText(entry("8", [], {}))]).toEqual(["once it is released", "not before its deadline", "not foreseen"]);
});

test("the marks of an axis are as many as fit, at full hours and midnights", () => {
  const within = { from: at(-1), to: at(23) };
  expect(ticks(within, at(0), "relative", 5).map((t) => t.word)).toEqual(["now", "+6 h", "+12 h", "+18 h"]);
  expect(ticks(within, at(0), "utc", 5).map((t) => t.word)).toEqual(["Sun 1 Mar", "06:00", "12:00", "18:00"]);
  expect(ticks({ from: at(0), to: at(24 * 7) }, at(0), "utc", 8)).toHaveLength(7);
  expect(ticks({ from: at(0) + 360_000, to: at(1) }, at(0) + 1_800_000, "relative", 6).map((t) => t.word)).toEqual(["−20 min", "−10 min", "now", "+10 min", "+20 min"]);
});

test("a table as a file keeps commas and quotes, and runs no formula", () => {
  expect(csv(["a", "b"], [['x,"y"\nz', 1], ["=cmd()", undefined], ["-5", -5]])).toBe('a,b\r\n"x,""y""\nz",1\r\n\'=cmd(),\r\n\'-5,-5\r\n');
});

test("a span is of whole days, and is divided into hours, days or weeks", () => {
  const now = Date.UTC(2026, 2, 10, 15, 30);
  expect(spanOf("", "", "7d", now, true)).toEqual({ from: Date.UTC(2026, 2, 4), to: undefined });
  expect(spanOf("", "", "24h", now, true)).toEqual({ from: Date.UTC(2026, 2, 9, 16), to: undefined });
  expect(spanOf("2026-02-01", "2026-02-03", "", now, true)).toEqual({ from: Date.UTC(2026, 1, 1), to: Date.UTC(2026, 1, 4) });
  expect(spanOf("rubbish", "2026-03-10", "30d", now, true)).toEqual({ from: Date.UTC(2026, 1, 9), to: undefined });
  expect(midnight(now, true)).toBe(Date.UTC(2026, 2, 10));
  const of = (days: number): { n: number; word: string; whole: boolean } => {
    const { parts, word } = divide(now - days * 86_400_000, now, true);
    return { n: parts.length, word, whole: parts.every((p, i) => i === 0 || p.from === parts[i - 1]!.to) && parts[0]!.from === now - days * 86_400_000 && parts[parts.length - 1]!.to === now };
  };
  expect([of(1), of(30), of(90), of(800)]).toEqual([{ n: 25, word: "hour", whole: true }, { n: 31, word: "day", whole: true }, { n: 13, word: "week", whole: true }, { n: 39, word: "3 weeks", whole: true }]);
});

test("a quota is changed in what differs only", () => {
  const q: Quota = { scope: "user", name: "ann", gpus: 8, gpu_hours: 50, period_seconds: 604_800, over_quota: "stop", used: { gpus: 0, running: 0, cpus: 0, queued: 0, bytes: 0 } };
  const same = { gpus: "8", gpu_hours: "50", period: "7d", over_quota: "stop" };
  expect(changed(q, "user", same)).toEqual({});
  expect(changed(q, "user", { ...same, gpus: "", running: " 9 ", max_run_time: "12h", preemptible: "no", gpus_per_user: "3" })).toEqual({ gpus: "none", running: 9, max_run_time: "12h", preemptible: false });
  expect(changed(q, "user", { ...same, gpus: "many" })).toEqual({ gpus: "many" });
  expect(limitsOf({ ...q, gpus_by_default: true }).map((l) => l.field)).toEqual(["gpu_hours"]);
  expect([span(604_800), span(5400), span(61)]).toEqual(["7d", "90m", "61s"]);
});

test("a reservation is sent as it is typed, and a refusal stands at its field", () => {
  expect(bodyOf({ ...none, name: "ann", gpu_count: "8", start: "2026-12-01 09:00" }, true)).toEqual({ user: "ann", gpu_count: 8, start: "2026-12-01T09:00:00.000Z", duration: "4h" });
  expect(bodyOf({ ...none, kind: "maintenance", name: "ann", nodes: "gpu1, gpu[3,5-6] gpu9", start: "+2h" }, true)).toEqual({ maintenance: true, nodes: ["gpu1", "gpu[3,5-6]", "gpu9"], start: "+2h", duration: "4h" });
  const of = (message: string, status = 409): string => placeOf({ message, status });
  expect([of("it would begin in 3h: GPUs may be reserved at most 1h ahead", 403), of("it would last 5h: GPUs may be reserved for at most 2h", 403), of("node n1 has maintenance 3 then: cancel that first"),
    of("7 GPUs would be reserved at once: at most 4 may be", 403), of("user ann has 10 reservations already, as many as allowed", 403), of("no leader", 500)]).toEqual(["start", "duration", "nodes", "gpu_count", "name", ""]);
});
