// Changes of jobs that a user asks for, and what became of them.
import { me } from "./feed.svelte.ts";
import { count } from "./format.ts";
import { Failure, send } from "./net.svelte.ts";
import { lacks } from "./roles.ts";
import type { BulkDone, Job } from "./types.ts";

export type Action = "cancel" | "hold" | "release" | "requeue" | "priority" | "move";

// asked is the change that waits for a confirmation.
export const asked = $state<{ open: boolean; action: Action; jobs: Job[] }>({ open: false, action: "cancel", jobs: [] });

export const notices = $state<{ id: number; text: string; bad: boolean }[]>([]);
let next = 1;

// say shows a message until it is closed or, if it is neither an error nor to be kept, for a while.
export function say(text: string, bad = false, kept = false): void {
  const id = next++;
  notices.push({ id, text, bad });
  if (notices.length > 4) notices.shift();
  if (!bad && !kept) setTimeout(() => hush(id), 6000);
}

export function hush(id: number): void {
  const i = notices.findIndex((n) => n.id === id);
  if (i >= 0) notices.splice(i, 1);
}

// mayChange returns why the caller may not change a job; empty: the caller may. Operators move jobs.
export function mayChange(job: Job, action?: Action): string {
  if (action === "move") return lacks("operator");
  const caller = me.caller;
  if (!caller) return "not known yet";
  if (caller.role === "admin" || caller.role === "operator") return "";
  if (caller.role === "viewer") return "needs the role user";
  return job.user === me.user ? "" : "needs the role operator: the job is " + job.user + "'s";
}

// fits reports whether an action makes sense for a job.
export function fits(action: Action, job: Job): boolean {
  const ended = ["completed", "failed", "canceled"].includes(job.state);
  switch (action) {
    case "cancel": return !ended;
    case "hold": return job.state === "queued" && !job.held;
    case "release": return job.held === true;
    case "requeue": return ["scheduled", "allocating", "running"].includes(job.state);
    case "priority": return !ended;
    case "move": return job.state === "queued";
  }
}

// ask opens the dialog for a change of jobs as they are shown now.
export function ask(action: Action, jobs: Job[]): void {
  const fitting = jobs.filter((j) => fits(action, j));
  if (fitting.length === 0) {
    say(`None of the jobs can be changed so: ${action}.`, true);
    return;
  }
  if (action === "move") fitting.sort((a, b) => (a.queue_position ?? 0) - (b.queue_position ?? 0)); // they go there in this order
  asked.action = action;
  asked.jobs = $state.snapshot(fitting) as Job[];
  asked.open = true;
}

// carryOut sends a change with what was shown of the jobs: nothing is done if more or others would be changed. Jobs are moved ahead of before.
export async function carryOut(action: Action, jobs: Job[], note: string, priority: number, before: string): Promise<void> {
  const done = { done: 0, refused: 0, why: "" };
  for (let i = 0; i < jobs.length; i += 1000) {
    const part = jobs.slice(i, i + 1000);
    const body: Record<string, unknown> = { action: action === "move" ? "priority" : action, ids: part.map((j) => j.id), expect: { users: [...new Set(part.map((j) => j.user))] } };
    if (note) body.note = note;
    if (action === "priority") body.priority = priority;
    if (action === "move") body.before = before;
    const { body: b } = await send<BulkDone>("POST", "/queue/bulk", body);
    done.done += b.done;
    done.refused += b.refused;
    const refused = b.results.find((r) => !r.success);
    if (refused) done.why ||= `job ${refused.job_id}: ${refused.message ?? refused.code}`;
  }
  const verb = { cancel: "canceled", hold: "held", release: "released", requeue: "requeued", priority: "changed", move: "moved" }[action];
  if (action === "move" && done.done === 0) throw new Failure(409, undefined, done.why);
  if (done.refused === 0) say(`${count(done.done, "job")} ${verb}.`);
  else say(`${done.done} ${verb}, ${done.refused} refused (${done.why}).`, true);
}

// explain returns what a failed change means.
export function explain(e: unknown): string {
  if (!(e instanceof Failure)) return String(e);
  if (e.code === "outcome_unknown" || e.status === 0) return `${e.message}. Whether it was carried out is not known: sent again under the key ${e.key} it is done at most once.`;
  return `${e.message}${e.code ? ` [${e.code}]` : ""}`;
}
