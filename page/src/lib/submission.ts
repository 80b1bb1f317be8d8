// A submission in three forms: the body of POST /queue/submit, the fields of a form, and a command line.

import { options } from "./options.ts";

export type Body = Record<string, unknown>;

// quoted writes a word for a POSIX shell.
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", `'\\''`) + "'";
}

// together are fields whose options depend on other fields, so that commandLine writes them by itself.
const together = ["command", "args", "script", "gpu_type", "array_size", "array_limit", "array_indices", "dependencies"];

// commandLine writes a submission as a call of berth; left are the fields that it has no option for.
export function commandLine(body: Body): { line: string; left: string[] } {
  const words = ["berth", "submit"], done = new Set(together);
  for (const [fields, option, form] of options) {
    for (const field of fields) {
      if (done.has(field)) continue;
      const written = optionOf(option, form, body, field);
      if (!written) continue;
      done.add(field);
      words.push(...written);
    }
  }
  if (body.gpu_type && body.gpu_count === undefined) words.push("-g", quoted(`${String(body.gpu_type)}:1`));
  const limit = body.array_limit ? `%${String(body.array_limit)}` : "";
  if (body.array_indices) words.push("-a", quoted(String(body.array_indices) + limit));
  else if (body.array_size) words.push("-a", `0-${Number(body.array_size) - 1}${limit}`);
  else if (limit) words.push("-a", limit);
  if (list(body.dependencies).length) words.push("--dependency", quoted(list(body.dependencies).join(",")));
  const left = Object.keys(body).filter((f) => !done.has(f));
  if (Array.isArray(body.args)) words.push("--", ...list(body.args).map(quoted));
  else if (body.script !== undefined) words.push("SCRIPT");
  else words.push("--", "sh", "-c", quoted(String(body.command ?? "")));
  return { line: words.join(" "), left };
}

// optionOf writes one field; undefined: the option cannot say what the field has.
function optionOf(option: string, form: string, body: Body, field: string): string[] | undefined {
  const v = body[field];
  if (v === undefined || v === null || v === "") return [];
  if (form === "switch") return [v === true ? option : `${option}=false`];
  if (form === "repeat") {
    const values = Array.isArray(v) ? list(v) : Object.entries(v).map(([name, value]) => `${name}=${String(value)}`);
    return values.flatMap((value) => [option, quoted(value)]);
  }
  if (typeof v === "object" && !Array.isArray(v) || field === "warn_signal" && body.warn_before !== undefined) return undefined;
  const text = Array.isArray(v) ? v.join(",") : String(v);
  return [option, quoted(field === "gpu_count" && body.gpu_type ? `${String(body.gpu_type)}:${text}` : text)];
}

function list(v: unknown): string[] {
  return Array.isArray(v) ? v.map(String) : [];
}

// withField returns a body with a field set, or without it if the value is empty. Values are of the kind that the field has.
export function withField(body: Body, field: string, text: string, kind: "text" | "number" | "list" | "yes"): Body {
  const { [field]: _, ...rest } = body;
  const t = text.trim();
  if (t === "") return rest;
  if (kind === "yes") return t === "true" ? { ...rest, [field]: true } : rest;
  if (kind === "number") return { ...rest, [field]: Number.isFinite(Number(t)) ? Number(t) : t };
  if (kind === "list") return { ...rest, [field]: t.split(/[\s,]+/).filter(Boolean) };
  return { ...rest, [field]: field === "command" || field === "script" ? text : t };
}

// fieldText writes a field of a body for an input.
export function fieldText(body: Body, field: string): string {
  const v = body[field];
  return v === undefined || v === null ? "" : Array.isArray(v) ? v.join(", ") : String(v);
}

// readBody parses the JSON form; an error says where it is wrong.
export function readBody(text: string): Body | string {
  try {
    const v: unknown = JSON.parse(text);
    return v !== null && typeof v === "object" && !Array.isArray(v) ? (v as Body) : "must be a JSON object";
  } catch (e) {
    return e instanceof Error ? e.message : String(e);
  }
}
