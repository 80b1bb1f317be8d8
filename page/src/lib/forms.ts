// The errors of an answer by the fields of a form.
import { explain } from "./actions.svelte.ts";
import { Failure } from "./net.svelte.ts";

// fieldErrors returns the messages for the fields of a form that it has, and what is left for the form as a whole.
export function fieldErrors(e: unknown, fields: string[]): { at: Record<string, string>; rest: string } {
  const at: Record<string, string> = {}, rest: string[] = [];
  for (const x of (e instanceof Failure && e.problem?.errors) || []) {
    if (fields.includes(x.field)) at[x.field] = x.message;
    else rest.push(`${x.field}: ${x.message}`);
  }
  return { at, rest: Object.keys(at).length ? rest.join("; ") : explain(e) };
}

// targetPath returns the place of what an event or a record is about; empty: it has no page.
export function targetPath(target: string | undefined): string {
  const [, kind, id] = /^(job|node) ([^\s,;/]+)/.exec(target ?? "") ?? [];
  return id ? (kind === "job" ? "/jobs/" : "/nodes/") + encodeURIComponent(id) : "";
}
