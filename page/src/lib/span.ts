// The span of time that a page shows, from its address.
import { midnight, plus } from "./days.svelte.ts";

export const spans = [{ value: "24h", word: "24 h" }, { value: "7d", word: "7 d" }, { value: "30d", word: "30 d" }, { value: "90d", word: "90 d" }];

// spanOf returns the instants of two calendar days, the second one included, or of the last hours or days. Without an end it is now.
export function spanOf(since: string, until: string, span: string, now: number, utc: boolean): { from: number; to: number | undefined } {
  const parse = (day: string): number | undefined => (/^\d{4}-\d\d-\d\d$/.test(day) && Number.isFinite(Date.parse(day)) ? Date.parse(day + (utc ? "T00:00:00Z" : "T00:00:00")) : undefined);
  const first = parse(since), last = parse(until), end = last === undefined ? undefined : plus(last, 1, utc);
  const to = end !== undefined && end < now ? end : undefined;
  if (first !== undefined) return { from: Math.min(first, midnight(now, utc)), to };
  const days = Number(/^(\d+)d$/.exec(span)?.[1] ?? 1);
  if (span === "24h" && to === undefined) return { from: Math.floor(now / 3_600_000) * 3_600_000 - 23 * 3_600_000, to };
  return { from: plus(midnight((to ?? now) - 1, utc), 1 - days, utc), to };
}
