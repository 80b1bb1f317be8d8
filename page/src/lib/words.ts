// Words for codes of the API. Those of the API's description (x-words) are repeated here, and a test compares them.

// reasons are why jobs wait and how they ended.
export const reasons: Record<string, string> = {
  "accounts": "too few GPUs are on nodes that run jobs of its user",
  "ahead": "would fit, but jobs before it are placed first",
  "backoff": "has failed, and is tried again later",
  "barred": "would fit, but a large job waits for the nodes",
  "begin": "asked to begin later",
  "canceled": "canceled",
  "confirmed_dead": "an operator confirmed that a node of it is dead",
  "constraint": "too few GPUs are free on the nodes that it may use",
  "cores": "too few cores or too little memory is free",
  "deadline": "its deadline came",
  "degraded": "agents of its nodes cannot start jobs",
  "dependency": "a job that it waited for has not ended as it should",
  "disk_limit": "it took more of a node's disk than it may",
  "drained": "a node of it is drained",
  "exited": "its processes ended",
  "gang_broken": "another rank of it failed or was lost",
  "gpu_failed": "too few GPUs are free that have not just failed it",
  "gpu_fault": "a GPU of it has a fault",
  "gpu_hours": "the quota of GPU-hours is used up",
  "gpu_memory": "too few GPUs with as much memory are free",
  "gpu_type": "too few GPUs of its type are free",
  "gpus": "too few GPUs are free",
  "held": "held until it is released",
  "lead_ended": "rank 0, with which the job ends, has ended",
  "limit": "a limit of the user, the project or the cluster is reached",
  "lost": "a node of it was silent for longer than its lease",
  "maintenance": "would fit, but a maintenance takes nodes out of service",
  "max_run_time": "its time limit is longer than allowed",
  "never": "no nodes that the cluster has could hold it, even empty",
  "nodes": "too few nodes take work",
  "orchestrator_stopped": "the scheduler is stopped: nothing is started",
  "pool": "the GPUs belong to the guarantees of others",
  "preempted": "its GPUs were claimed for another job",
  "rebooted": "a node of it was restarted",
  "requeued": "sent back to the queue",
  "reservation": "would fit, but a reservation keeps the GPUs",
  "reserved": "would fit, but GPUs are kept for jobs before it",
  "standstill": "nothing is started since a restore, until an operator starts the scheduler",
  "start_deadline": "not all ranks were ready in time",
  "suspending": "starts as soon as other jobs have been suspended",
  "throttle": "as many tasks of its array run as may",
  "time_limit": "it ran as long as it may"
};

// brief are the reasons of waiting jobs for a row of a table.
export const brief: Record<string, string> = {
  "accounts": "accounts",
  "ahead": "jobs before it",
  "backoff": "retry later",
  "barred": "nodes kept for a large job",
  "begin": "begins later",
  "degraded": "agents not ready",
  "constraint": "constraint",
  "cores": "cores or memory",
  "dependency": "dependency",
  "gpu_failed": "GPUs that failed it",
  "gpu_hours": "GPU-hours used up",
  "gpu_memory": "GPU memory",
  "gpu_type": "GPU type",
  "gpus": "too few free GPUs",
  "held": "held",
  "limit": "limit",
  "maintenance": "maintenance",
  "max_run_time": "run time",
  "never": "never fits",
  "nodes": "nodes",
  "orchestrator_stopped": "scheduler stopped",
  "pool": "pool",
  "reservation": "reservation",
  "reserved": "GPUs kept for others",
  "standstill": "standstill",
  "suspending": "about to start",
  "throttle": "array limit",
  "canceled": "canceled",
  "confirmed_dead": "node confirmed dead",
  "deadline": "deadline",
  "disk_limit": "disk limit",
  "drained": "node drained",
  "exited": "ended",
  "gang_broken": "another rank failed",
  "gpu_fault": "GPU fault",
  "lead_ended": "rank 0 ended",
  "lost": "node lost",
  "preempted": "preempted",
  "rebooted": "node restarted",
  "requeued": "requeued",
  "start_deadline": "ranks not ready in time",
  "time_limit": "time limit"
};

// reasonText writes a reason; an ending such as "exit code 3" has its words already.
export function reasonText(reason: string | undefined): string {
  return parts(reason, (one) => reasons[one] ?? one + (ends[one] ? `, ${ends[one]}` : ""));
}

// parts writes each part of a reason: a job that is tried again has why it ended and why it waits, with a semicolon between them.
function parts(reason: string | undefined, write: (one: string) => string): string {
  return (reason ?? "").split("; ").filter(Boolean).map(write).join("; ");
}

// ends are the exit codes that say more than that a program has failed. A shell makes 128 + N of signal N.
const ends: Record<string, string> = Object.fromEntries(Object.entries({
  126: "its program cannot be executed: it needs the right to be, or is no program",
  127: "its program was not found: the PATH or the folder on the node may differ",
  130: "interrupted (SIGINT)",
  134: "it aborted itself (SIGABRT), as after a failed assertion",
  135: "it read memory that is not there (SIGBUS), as of a full /dev/shm",
  137: "killed (SIGKILL), most often for too much main memory",
  139: "it crashed (SIGSEGV): a defect in native code or a library",
  143: "asked to end (SIGTERM)",
}).map(([code, words]) => ["exit code " + code, words]));

// exitText writes how a program ended, in words where it has some.
export function exitText(code: number | undefined, signal: number | undefined, memory = false): string {
  if (memory) return "the kernel killed a process of it, because its main memory was used up";
  const words = ends["exit code " + (signal ? 128 + signal : code)];
  const what = signal ? `signal ${signal}` : code === undefined ? "" : `exit code ${code}`;
  return what + (what && words ? `: ${words}` : "");
}

// waitsFor writes why a job waits; one without a reason of its own waits for its turn.
export function waitsFor(job: { held?: boolean; state: string; reason?: string }): string {
  return job.held ? "held" : (job.reason ?? (job.state === "queued" ? "ahead" : ""));
}

// reasonBrief writes a reason in as few words as fit a row.
export function reasonBrief(reason: string | undefined): string {
  return parts(reason, (one) => brief[one] ?? one);
}

// jobIcons are signs of the states of jobs, which go with the words: colour alone says nothing.
export const jobIcons: Record<string, string> = {
  queued: "◷", scheduled: "◔", allocating: "◑", running: "▶\uFE0E", completed: "✓", failed: "✕", canceled: "⊘", held: "⏸\uFE0E",
};

// priorityName is the word for a priority (1 low to 4 critical; 5 is normal, too, 6 to 8 are high, 9 and 10 critical).
export function priorityName(p: number): string {
  return p <= 1 ? "low" : p === 2 || p === 5 ? "normal" : p === 3 || (p >= 6 && p <= 8) ? "high" : "critical";
}
