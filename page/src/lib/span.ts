// The span of time that a page shows, from its address, and its parts.
import type { UsageRow } from "./types.ts";

export const spans = [{ value: "24h", word: "24 h" }, { value: "7d", word: "7 d" }, { value: "30d", word: "30 d" }, { value: "90d", word: "90 d" }];

// spanOf returns the instants of two calendar days, the second one included, or of the last hours or days. Without an end it is now.
export function spanOf(since: string, until: string, span: string, now: number, utc: boolean): { from: number; to: number | undefined } {
  const parse = (day: string): number | undefined => (/^\d{4}-\d\d-\d\d$/.test(day) && Number.isFinite(Date.parse(day)) ? Date.parse(day + (utc ? "T00:00:00Z" : "T00:00:00")) : undefined);
  const first = parse(since), last = parse(until), end = last === undefined ? undefined : plus(last, 1, utc);
  const to = end !== undefined && end < now ? end : undefined;
  if (first !== undefined) return { from: Math.min(first, midnight(now, utc)), to };
  const days = Number(/^(\d+)d$/.exec(span)?.[1] ?? 1);
  if (span === "24h" && to === undefined) return { from: Math.floor(now / hour) * hour - 23 * hour, to };
  return { from: plus(midnight((to ?? now) - 1, utc), 1 - days, utc), to };
}

export type Part = { from: number; to: number; total?: UsageRow; failed?: string };

export const hour = 3_600_000;
const day = 24 * hour;

// midnight returns the begin of the day of an instant, by the local calendar or UTC.
export function midnight(at: number, utc: boolean): number {
  const d = new Date(at);
  return utc ? d.setUTCHours(0, 0, 0, 0) : d.setHours(0, 0, 0, 0);
}

// plus returns the midnight some days later: days of a change of the clocks have other lengths.
export function plus(at: number, days: number, utc: boolean): number {
  const d = new Date(at);
  return utc ? d.setUTCDate(d.getUTCDate() + days) : d.setDate(d.getDate() + days);
}

// divide returns the parts of a span: hours up to two days, days up to 45, and else weeks, or more if these are too many to read.
export function divide(from: number, to: number, utc: boolean): { parts: Part[]; word: string } {
  const parts: Part[] = [], length = to - from;
  if (length <= 2 * day) {
    for (let t = Math.floor(from / hour) * hour; t < to; t += hour) parts.push({ from: Math.max(t, from), to: Math.min(t + hour, to) });
    return { parts, word: "hour" };
  }
  const days = length <= 45 * day ? 1 : 7 * Math.max(1, Math.ceil(length / (53 * 7 * day)));
  for (let t = midnight(from, utc); t < to; t = plus(t, days, utc)) parts.push({ from: Math.max(t, from), to: Math.min(plus(t, days, utc), to) });
  return { parts, word: days === 1 ? "day" : days === 7 ? "week" : `${days / 7} weeks` };
}
