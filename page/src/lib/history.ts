// Series of the cluster's history as lines and areas of a chart. A step without a value is a gap.
import type { ClusterHistory } from "./types.ts";

export type Values = (number | null)[];

// Line is one series of a chart. An area begins at 0 or lies on other values; a line at the right has a scale of its own.
export type Line = { name: string; look: string; values: Values; area?: boolean; on?: Values; right?: boolean; write?: (v: number) => string };

const minute = 60_000;

// newestMinute returns the newest minute that all peers have: values come some seconds after the begin of a minute.
export function newestMinute(now: number): number {
  return Math.floor((now - 10_000) / minute) * minute;
}

// historyPath returns the address of the last minutes of some series; all series without names.
export function historyPath(now: number, minutes: number, series = ""): string {
  const last = newestMinute(now);
  return "/cluster/history?" + new URLSearchParams({ since: new Date(last - (minutes - 1) * minute).toISOString(), until: new Date(last + minute).toISOString(), ...(series ? { series } : {}) }).toString();
}

// valuesOf returns one series.
export function valuesOf(h: ClusterHistory, name: string): Values {
  return h.series[name] ?? [];
}

// isEmpty reports whether a history has no values yet: each minute that was recorded has the number of waiting tasks.
export function isEmpty(h: ClusterHistory): boolean {
  return valuesOf(h, "jobs_waiting").every((v) => v === null);
}

// begun returns a history without the steps ahead of its first value, but at least an hour of it.
export function begun(h: ClusterHistory): ClusterHistory {
  const waits = valuesOf(h, "jobs_waiting"), first = waits.findIndex((v) => v !== null);
  const cut = Math.max(0, Math.min(first < 0 ? 0 : first, waits.length - 3600 / h.step));
  const series = Object.fromEntries(Object.entries(h.series).map(([name, v]) => [name, v?.slice(cut) ?? null]));
  return { ...h, start: new Date(Date.parse(h.start) + cut * h.step * 1000).toISOString(), series };
}

// outline returns an SVG path: the line through values or, with the values below, the area between both. x and y place a step and a value.
export function outline(values: Values, x: (step: number) => number, y: (value: number) => number, below?: Values): string {
  const has = (i: number): boolean => i >= 0 && i < values.length && values[i] !== null && (below === undefined || (below[i] ?? null) !== null);
  const point = (i: number, v: number): string => `${x(i).toFixed(1)},${y(v).toFixed(1)}`;
  let out = "";
  for (let i = 0; i < values.length; i++) {
    if (!has(i)) continue;
    const first = i, side = (of: Values, lift: Values | undefined): string[] => {
      const at = (k: number): number => of[k]! + (lift?.[k] ?? 0), points: string[] = [];
      // What lies on a level between its neighbours adds nothing.
      for (let k = first; k <= i; k++) if (k === first || k === i || at(k) !== at(k - 1) || at(k) !== at(k + 1)) points.push(point(k, at(k)));
      if (first === i) points.push(`${(x(i) + 1).toFixed(1)},${y(at(i)).toFixed(1)}`); // one step alone can be seen, too
      return points;
    };
    while (has(i + 1)) i++;
    const upper = side(values, below);
    out += "M" + upper.join("L");
    if (below) out += "L" + side(below, undefined).reverse().join("L") + "Z";
  }
  return out;
}

// newest returns the last step with a value of any series; -1: none.
export function newest(all: Values[]): number {
  return Math.max(-1, ...all.map((v) => v.findLastIndex((x) => x !== null)));
}

// highest returns the step of the greatest value, the newest of several; -1: none.
export function highest(values: Values): number {
  return values.reduce<number>((best, v, i) => (v !== null && (best < 0 || v >= values[best]!) ? i : best), -1);
}

// picked returns at most 24 steps up to one, evenly, for a table.
export function picked(last: number): number[] {
  const every = Math.max(1, Math.ceil((last + 1) / 24)), out: number[] = [];
  for (let i = last; i >= 0; i -= every) out.unshift(i);
  return out;
}

// gpuLines are what the GPUs of the cluster did: what is between the idle ones and the allocated ones was not measured.
export function gpuLines(h: ClusterHistory): Line[] {
  const busy = valuesOf(h, "gpus_busy");
  return [
    { name: "allocated", look: "held", area: true, values: valuesOf(h, "gpus_allocated") },
    { name: "working", look: "work", area: true, values: busy },
    { name: "held idle", look: "idle", area: true, values: valuesOf(h, "gpus_idle_held"), on: busy },
    { name: "total", look: "total", values: valuesOf(h, "gpus_total") },
  ];
}
