// A reservation or a maintenance as a form has it.
import type { Failure } from "./net.svelte.ts";

export const none: Record<string, string> = { kind: "reservation", owner: "user", name: "", gpu_count: "", gpu_type: "", nodes: "", start: "", duration: "4h", reason: "" };

// instant returns what the API takes for a begin: RFC 3339 for a day and an hour of the calendar that is shown; +2h and such stay.
export function instant(text: string, utc: boolean): string {
  const t = text.trim();
  if (!/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?$/.test(t)) return t === "now" ? "" : t;
  const at = new Date(t.replace(" ", "T") + (utc ? "Z" : ""));
  return Number.isNaN(at.getTime()) ? t : at.toISOString();
}

// bodyOf returns the body of POST /reservations.
export function bodyOf(v: Record<string, string>, utc: boolean): Record<string, unknown> {
  const of = (name: string): string => (v[name] ?? "").trim();
  const body: Record<string, unknown> = {}, count = of("gpu_count"), nodes = of("nodes").split(/[\s,]+(?![^[]*\])/).filter(Boolean);
  if (of("kind") === "maintenance") body.maintenance = true;
  else {
    if (of("name")) body[of("owner")] = of("name");
    if (count) body.gpu_count = Number.isFinite(Number(count)) ? Number(count) : count;
    if (of("gpu_type")) body.gpu_type = of("gpu_type");
  }
  if (nodes.length) body.nodes = nodes;
  const start = instant(of("start"), utc);
  if (start) body.start = start;
  for (const name of ["duration", "reason"]) if (of(name)) body[name] = of(name);
  return body;
}

// places are where the reasons of a refusal are shown: the words in them show which field they are about. Others stand below the form.
const places: [RegExp, string][] = [
  [/would begin|ahead/, "start"], [/would last|over already/, "duration"], [/has maintenance|on node|no node|node \S+ has|the nodes have/, "nodes"], [/of several models/, "gpu_type"],
  [/GPUs would be reserved|could not be met|gpus|GPU-hours|quota/i, "gpu_count"], [/reservations already|another user|project/, "name"], [/maintenance needs/, "kind"],
];

// placeOf returns the field of a refusal that names none; empty: it is about the whole.
export function placeOf(f: Pick<Failure, "message" | "status">): string {
  if (![403, 404, 409, 422, 503].includes(f.status)) return "";
  return places.find(([words]) => words.test(f.message))?.[1] ?? "";
}
