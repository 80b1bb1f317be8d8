// A submission in three forms: the body of POST /queue/submit, the fields of a form, and a command line.

export type Body = Record<string, unknown>;

// flags are the options of "berth submit" for fields of the body, in the order in which they are written.
const flags: [field: string, flag: string][] = [
  ["name", "-J"], ["user", "-u"], ["project", "-A"], ["gpu_count", "-g"], ["gpu_memory_gb", "--gpu-mem"], ["min_gpus", "--min-gpus"], ["nodes", "-N"], ["gpus_per_node", "--gpus-per-node"],
  ["cpus", "-c"], ["host_memory_gb", "--mem"], ["time_limit", "-t"], ["time_limit_seconds", "-t"], ["estimated_duration", "--estimate"], ["estimated_duration_seconds", "--estimate"], ["priority", "-p"], ["constraint", "-C"], ["nodelist", "-w"], ["exclude", "-x"],
  ["placement", "--placement"], ["workdir", "-D"], ["begin", "--begin"], ["deadline", "--deadline"], ["max_retries", "--max-retries"], ["idle_stop", "--idle-stop"], ["grace", "--grace"], ["on_lost", "--on-lost"],
  ["checkpoint_dir", "--checkpoint-dir"], ["checkpoint_signal", "--checkpoint-signal"], ["checkpoint_interval", "--checkpoint-interval"], ["checkpoint_grace", "--checkpoint-grace"], ["stop_signal", "--stop-signal"], ["retry_on", "--retry-on"],
  ["webhook_url", "--webhook"], ["notify", "--notify"], ["run_id", "--run-id"], ["disconnect_grace", "--disconnect-grace"],
];

// quoted writes a word for a POSIX shell.
export function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : "'" + word.replaceAll("'", `'\\''`) + "'";
}

// commandLine writes a submission as a call of berth; left are the fields that it has no option for.
export function commandLine(body: Body): { line: string; left: string[] } {
  const words = ["berth", "submit"], done = new Set(["command", "args", "script", "gpu_type"]);
  for (const [field, flag] of flags) {
    const v = body[field];
    done.add(field);
    if (v === undefined || v === null || v === "") continue;
    const text = Array.isArray(v) ? v.join(",") : String(v);
    words.push(flag, quoted(field === "gpu_count" && body.gpu_type ? `${String(body.gpu_type)}:${text}` : text));
  }
  if (body.gpu_type && body.gpu_count === undefined) words.push("-g", quoted(`${String(body.gpu_type)}:1`));
  if (body.preemptible !== undefined) words.push(body.preemptible === true ? "--preemptible" : "--preemptible=false");
  for (const f of ["hold", "lead"]) if (body[f] === true) words.push("--" + f);
  const limit = body.array_limit ? `%${String(body.array_limit)}` : "";
  if (body.array_indices) words.push("-a", quoted(String(body.array_indices) + limit));
  else if (body.array_size) words.push("-a", `0-${Number(body.array_size) - 1}${limit}`);
  else if (limit) words.push("-a", limit);
  for (const p of list(body.params)) words.push("--param", quoted(p));
  if (list(body.dependencies).length) words.push("--dependency", quoted(list(body.dependencies).join(",")));
  for (const [k, v] of Object.entries((body.env ?? {}) as Record<string, string>)) words.push("-e", quoted(`${k}=${v}`));
  for (const f of ["preemptible", "hold", "lead", "array_limit", "array_indices", "array_size", "params", "dependencies", "env"]) done.add(f);
  const left = Object.keys(body).filter((f) => !done.has(f));
  if (Array.isArray(body.args)) words.push("--", ...list(body.args).map(quoted));
  else if (body.script !== undefined) words.push("SCRIPT");
  else words.push("--", "sh", "-c", quoted(String(body.command ?? "")));
  return { line: words.join(" "), left };
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
