// The limits of a quota: their names in the API, and how they are written.
import { span } from "./format.ts";
import type { Quota } from "./types.ts";

export type Field = { field: keyof Quota & string; send?: string; word: string; hint: string; scopes?: string[]; kind: "number" | "hours" | "time" | "yes" | "over"; other?: boolean };

export const fields: Field[] = [
  { field: "gpus", word: "GPUs", hint: "in use at a time", kind: "number" },
  { field: "running", word: "Jobs that run", hint: "with GPUs, at a time", kind: "number" },
  { field: "queued", word: "Jobs that wait", hint: "more are refused", kind: "number" },
  { field: "gpus_per_job", word: "GPUs per job", hint: "more are refused", kind: "number", other: true },
  { field: "gpus_per_user", word: "GPUs per user", hint: "of users without an own limit", kind: "number", scopes: ["cluster"], other: true },
  { field: "max_run_time_seconds", send: "max_run_time", word: "Longest run", hint: "such as 12h or 7d", kind: "time", other: true },
  { field: "gpu_hours", word: "GPU-hours", hint: "of each period", kind: "hours" },
  { field: "period_seconds", send: "period", word: "Period", hint: "an hour to 366 days, such as 7d", kind: "time" },
  { field: "over_quota", word: "Then", hint: "once they are used up", kind: "over" },
  { field: "reserved_gpus", word: "Guaranteed GPUs", hint: "how strictly says the pool", kind: "number", scopes: ["project", "user"] },
  { field: "max_cpus", word: "Cores", hint: "of jobs without GPUs", kind: "number" },
  { field: "preemptible", word: "May be suspended", hint: "its jobs, unless they say", kind: "yes", other: true },
];

// valueOf returns a limit as text for a form; empty: there is none.
export function valueOf(q: Quota | undefined, f: Field): string {
  const v = q?.[f.field];
  if (v === undefined || (f.field === "gpus" && q?.gpus_by_default) || ((f.field === "period_seconds" || f.field === "over_quota") && q?.gpu_hours === undefined)) return "";
  if (f.kind === "time") return span(v as number);
  return f.kind === "yes" ? (v ? "yes" : "no") : String(v);
}

// limitsOf returns the limits that a scope has of its own, without those that belong to GPU-hours.
export function limitsOf(q: Quota): { field: string; word: string; text: string; other: boolean }[] {
  return fields.filter((f) => f.field !== "period_seconds" && f.field !== "over_quota" && valueOf(q, f) !== "").map((f) => ({ field: f.send ?? f.field, word: f.word, text: valueOf(q, f), other: f.other === true }));
}

// hasLimit reports whether a scope has a limit of its own.
export function hasLimit(q: Quota): boolean {
  return limitsOf(q).length > 0;
}

// changed returns the body that turns a quota into what a form says: only what differs.
export function changed(q: Quota | undefined, scope: string, values: Record<string, string>): Record<string, unknown> {
  const body: Record<string, unknown> = {};
  for (const f of fields) {
    const name = f.send ?? f.field, value = (values[name] ?? "").trim();
    if (value === valueOf(q, f) || (f.scopes && !f.scopes.includes(scope))) continue;
    if (value === "") {
      if (f.kind !== "over" && f.field !== "period_seconds") body[name] = "none";
    } else if (f.kind === "yes") body[name] = value === "yes";
    else if (f.kind === "number" || f.kind === "hours") body[name] = Number.isFinite(Number(value)) ? Number(value) : value;
    else body[name] = value;
  }
  return body;
}
