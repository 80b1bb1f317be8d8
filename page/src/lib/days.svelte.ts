// GPU-hours over time: the use of each day, hour or week of a span, read one after the other.
import { get } from "./net.svelte.ts";
import { hour, type Part } from "./span.ts";
import type { Usage, UsageRow } from "./types.ts";

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
