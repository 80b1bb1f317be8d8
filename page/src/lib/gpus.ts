// What GPUs do, as the page shows it: a GPU that is held may work or be idle.
import type { GPU, Node, Samples } from "./types.ts";

export type Kind = "work" | "unknown" | "idle" | "free" | "busyless" | "closed" | "unhealthy";

export const kinds: { kind: Kind; word: string; sign: string }[] = [
  { kind: "work", word: "working", sign: "" },
  { kind: "unknown", word: "held, no telemetry", sign: "" },
  { kind: "idle", word: "held idle", sign: "" },
  { kind: "busyless", word: "between jobs", sign: "" },
  { kind: "free", word: "free", sign: "" },
  { kind: "closed", word: "closed", sign: "" },
  { kind: "unhealthy", word: "unhealthy", sign: "×" },
];

// idleAfter is for how long a held GPU is at 0 % before it counts as idle, in seconds.
export const idleAfter = 60;

export type Sample = { utilization: number | null; memory: number | null; temperature: number | null; power: number | null; idle: number | null };

// sampleAt returns one GPU's telemetry from its place in the columns.
export function sampleAt(s: Samples | undefined, i: number): Sample {
  return {
    utilization: s?.utilization_percent[i] ?? null, memory: s?.memory_used_gb[i] ?? null, temperature: s?.temperature_celsius[i] ?? null,
    power: s?.power_watts[i] ?? null, idle: s?.idle_held_seconds[i] ?? null,
  };
}

// kindOf returns what a GPU of a node does.
export function kindOf(n: Node, g: GPU, s: Sample): Kind {
  if (g.state === "unhealthy") return "unhealthy";
  if (g.state === "allocated" && s.utilization === null && s.idle === null) return "unknown";
  if (g.state === "allocated") return s.idle !== null && s.idle >= idleAfter ? "idle" : "work";
  if (g.state !== "free") return "busyless";
  return g.mode || n.state !== "up" ? "closed" : "free";
}

// spread counts the GPUs of all nodes by what they do, and their utilization.
export function spread(nodes: Node[], s: Samples | undefined, layout: string | undefined) {
  const n: Record<Kind, number> = { work: 0, unknown: 0, idle: 0, free: 0, busyless: 0, closed: 0, unhealthy: 0 };
  const fits = s !== undefined && s.layout === layout ? s : undefined;
  let i = 0, total = 0, held = 0, heldSum = 0, sum = 0, measured = 0;
  for (const node of nodes) {
    for (const g of node.gpus) {
      const at = sampleAt(fits, i++);
      n[kindOf(node, g, at)]++;
      total++;
      if (at.utilization === null) continue;
      measured++;
      sum += at.utilization;
      if (g.state === "allocated") { held++; heldSum += at.utilization; }
    }
  }
  return {
    total, measured: measured > 0, utilization: held ? heldSum / held : 0, overall: measured ? sum / measured : 0,
    parts: kinds.map((k) => ({ kind: k.kind as string, word: k.word, n: n[k.kind] })),
  };
}

// level returns which of five steps a utilization falls into, from 1.
export function level(percent: number | null): number {
  return percent === null ? 1 : Math.min(5, 1 + Math.floor(percent / 20));
}
