// GPU-hours over time: the use of each day, hour or week of a span, read one after the other.
import { get } from "./net.svelte.ts";
import type { Usage, UsageRow } from "./types.ts";

export type Part = { from: number; to: number; total?: UsageRow; failed?: string };

const hour = 3_600_000, day = 24 * hour;

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

const known = new Map<string, UsageRow>();

// Days reads the parts of a span. What is over for a while is read once.
export class Days {
  parts = $state.raw<Part[]>([]);
  read = $state(0); // how many parts are

  async load(parts: Part[], filters: Record<string, string>, now: number, signal: AbortSignal): Promise<void> {
    const query = new URLSearchParams(filters).toString(), list = parts.map((p) => ({ ...p, total: known.get(`${p.from}-${p.to}?${query}`) }));
    this.parts = list;
    this.read = list.filter((p) => p.total).length;
    const wanted = list.filter((p) => !p.total || p.to > now - hour).reverse();
    const next = async (): Promise<void> => {
      for (let p = wanted.shift(); p && !signal.aborted; p = wanted.shift()) await this.one(p, query, now, signal);
    };
    await Promise.all([next(), next()]);
  }

  private async one(p: Part, query: string, now: number, signal: AbortSignal): Promise<void> {
    const span = new URLSearchParams({ since: new Date(p.from).toISOString(), ...(p.to < now ? { until: new Date(p.to).toISOString() } : {}) });
    let read: Part;
    try {
      const { body } = await get<Usage>(`/usage?${span}${query ? "&" + query : ""}`, signal);
      if (known.size > 2000) known.clear();
      read = { from: p.from, to: p.to, total: body.total };
      if (p.to < now - hour) known.set(`${p.from}-${p.to}?${query}`, body.total);
    } catch (e) {
      if (signal.aborted) return;
      read = { ...p, failed: e instanceof Error ? e.message : String(e) };
    }
    if (signal.aborted) return;
    this.parts = this.parts.map((q) => (q.from === p.from ? read : q));
    this.read = this.parts.filter((q) => q.total ?? q.failed).length;
  }
}
