// What a timeline draws: jobs, services, reservations and maintenances as bars, in the rows of nodes or of their own.
import type { Mode } from "./clock.svelte.ts";
import { count, duration, isSet } from "./format.ts";
import type { Plan, PlanEntry, Range, Reservation } from "./types.ts";
import { reasonText } from "./words.ts";

export type Span = { from: number; to: number }; // to: Infinity if the end is not known
export type Guess = { soonest: number; expected: number; latest: number };
export type Kind = "running" | "planned" | "reservation" | "maintenance";

export type Bar = Span & { id: string; kind: Kind; begins?: Guess; ends?: Guess; pauses: Span[]; label: string; link: string; user: string; nodes: string[]; entry?: PlanEntry; booking?: Reservation };

// Line is one line of bars that do not overlap. A row of the timeline has one or more.
export type Line = { key: string; row: string; first: boolean; link: string; bars: Bar[] };

// anywhere is the row of what has no node, or none yet.
export const anywhere = "any node";

function guess(r: Range | undefined): Guess | undefined {
  if (!r || !isSet(r.expected)) return undefined;
  const of = (t: string, none: number): number => (isSet(t) ? Date.parse(t) : none);
  return { soonest: of(r.soonest, Date.parse(r.expected)), expected: Date.parse(r.expected), latest: of(r.latest, Infinity) };
}

// nameOf returns the id by which people know what an entry of the plan is.
export function nameOf(e: PlanEntry): string {
  return e.allocation_id ?? (e.task === undefined ? e.job_id! : `${e.job_id}.${e.task}`);
}

// linkOf returns the page of an entry.
export function linkOf(e: PlanEntry): string {
  if (!e.job_id) return "/reservations?part=services";
  return `/jobs/${e.job_id}${e.task === undefined ? "" : `?task=${e.task}`}`;
}

// barOf returns the bar of an entry; undefined: its start is not known.
export function barOf(e: PlanEntry): Bar | undefined {
  const begins = guess(e.start), ends = guess(e.end), runs = isSet(e.started_at);
  const from = runs ? Date.parse(e.started_at!) : begins?.expected;
  if (from === undefined) return undefined;
  const to = Math.max(from, ends?.expected ?? Infinity);
  const pauses = (e.pauses ?? []).map((p) => ({ from: Date.parse(p.from), to: isSet(p.until) ? Date.parse(p.until) : to }));
  return {
    id: nameOf(e), kind: runs ? "running" : "planned", from, to, begins: runs ? undefined : begins, ends, pauses, link: linkOf(e), user: e.user, nodes: e.nodes ?? [], entry: e,
    label: `${nameOf(e)} ${e.name && e.name !== e.allocation_id ? e.name + " " : ""}· ${e.user} · ${e.gpu_count}`,
  };
}

// bookingBar returns the bar of a reservation or a maintenance.
export function bookingBar(r: Reservation): Bar {
  const owner = r.project ? `project ${r.project}` : (r.user ?? "");
  const what = r.kind === "maintenance" ? "Maintenance" : "Reserved";
  return {
    id: "r" + r.reservation_id, kind: r.kind, from: Date.parse(r.start), to: Date.parse(r.end), pauses: [], link: "/reservations", user: r.user ?? "", nodes: r.nodes ?? [], booking: r,
    label: [`${what} ${r.reservation_id}`, owner, r.gpu_count ? count(r.gpu_count, "GPU") : "", r.reason].filter(Boolean).join(" · "),
  };
}

const natural = new Intl.Collator("en", { numeric: true });

// pack puts bars into as few lines as they need, so that none overlap in one.
function pack(bars: Bar[]): Bar[][] {
  const lines: Bar[][] = [];
  for (const b of bars.toSorted((x, y) => x.from - y.from || x.to - y.to)) {
    const free = lines.find((l) => l[l.length - 1]!.to <= b.from);
    if (free) free.push(b);
    else lines.push([b]);
  }
  return lines;
}

// nodeLines returns the lines of a timeline by nodes. Nodes without bars have none.
export function nodeLines(bars: Bar[], only = ""): Line[] {
  const rows = new Map<string, Bar[]>();
  for (const b of bars) {
    for (const node of b.nodes.length ? b.nodes : [anywhere]) {
      if (only && !node.includes(only)) continue;
      const row = rows.get(node);
      if (row) row.push(b);
      else rows.set(node, [b]);
    }
  }
  const names = [...rows.keys()].sort((a, b) => Number(b === anywhere) - Number(a === anywhere) || natural.compare(a, b));
  return names.flatMap((row) => {
    const all = rows.get(row)!, booked = all.filter((b) => b.booking), rest = all.filter((b) => !b.booking);
    return [...pack(booked), ...pack(rest)].map((list, i) => ({ key: `${row}/${i}`, row, first: i === 0, link: row === anywhere ? "" : "/nodes/" + encodeURIComponent(row), bars: list }));
  });
}

// jobLines returns the lines of a timeline with one bar each, in the order that is given.
export function jobLines(bars: Bar[]): Line[] {
  return bars.map((b) => ({ key: b.id, row: b.booking ? `${b.kind === "maintenance" ? "maintenance" : "reservation"} ${b.booking.reservation_id}` : b.id, first: true, link: b.link, bars: [b] }));
}

// barsOf returns what the plan and the reservations have within a span, for a user and a node if they are given.
export function barsOf(plan: Plan | undefined, booked: Reservation[], within: Span, user = "", node = ""): Bar[] {
  const bars = [...booked.filter((r) => r.state !== "over").map(bookingBar), ...(plan?.running ?? []).map(barOf), ...(plan?.waiting ?? []).map(barOf)].filter((b) => b !== undefined);
  return bars.filter((b) => {
    const to = b.ends && Number.isFinite(b.ends.latest) ? Math.max(b.to, b.ends.latest) : b.to;
    return Math.min(b.from, b.begins?.soonest ?? Infinity) < within.to && to > within.from && (!user || b.user === user) && (!node || b.nodes.some((n) => n.includes(node)));
  });
}

// afterText says what an entry without a start waits for.
export function afterText(e: PlanEntry): string {
  if (e.late) return "not before its deadline";
  switch (e.after) {
    case undefined: return "not foreseen";
    case "orchestrator_stopped": return "once the scheduler is started";
    case "standstill": return "once an operator starts the scheduler";
    case "held": return "once it is released";
    case "dependency": return "after its dependencies";
    case "throttle": return "after other tasks of its array";
    case "limit": return "once a limit allows it";
  }
  return reasonText(e.after);
}

// details returns in words all that a bar shows; write writes an instant.
export function details(b: Bar, write: (at: number) => string): string {
  const span = (g: Guess | undefined): string => (!g ? "" : g.soonest === g.latest ? "" : ` (soonest ${write(g.soonest)}, latest ${Number.isFinite(g.latest) ? write(g.latest) : "not known"})`);
  const r = b.booking, e = b.entry;
  if (r) {
    return [`${r.kind === "maintenance" ? "Maintenance" : "Reservation"} ${r.reservation_id}`, r.project ? `project ${r.project}` : r.user, r.gpu_count && count(r.gpu_count, "GPU"), r.gpu_type, b.nodes.join(" ") || anywhere,
      `${write(b.from)} to ${write(b.to)}`, r.short_gpus && `short by ${r.short_gpus}`, r.reason].filter(Boolean).join(" · ");
  }
  if (!e) return b.label;
  return [`${e.job_id ? "Job" : "Service"} ${nameOf(e)}`, e.name !== e.allocation_id && e.name, e.user, count(e.gpu_count, "GPU"), b.nodes.join(" "), e.queue_position && `position ${e.queue_position}`,
    b.kind === "running" ? `runs since ${write(b.from)}` : `starts ${write(b.from)}${span(b.begins)}`,
    Number.isFinite(b.to) ? `ends ${write(b.to)}${span(b.ends)}` : "end not known",
    ...b.pauses.map((p) => `suspended ${write(p.from)}${Number.isFinite(p.to) ? ` to ${write(p.to)}` : ""}`)].filter(Boolean).join(" · ");
}

const minute = 60_000, hour = 60 * minute, day = 24 * hour;
const steps = [minute, 5 * minute, 10 * minute, 15 * minute, 30 * minute, hour, 2 * hour, 3 * hour, 6 * hour, 12 * hour, day, 2 * day, 7 * day, 14 * day, 28 * day];

// ticks returns the marks of a time axis, at most as many as fit, with their words in the time mode.
export function ticks(within: Span, now: number, mode: Mode, most: number): { at: number; word: string }[] {
  const step = steps.find((s) => (within.to - within.from) / s <= most) ?? 56 * day;
  const out: { at: number; word: string }[] = [];
  if (mode === "relative") {
    for (let k = Math.ceil((within.from - now) / step); now + k * step < within.to; k++) out.push({ at: now + k * step, word: k === 0 ? "now" : `${k < 0 ? "−" : "+"}${duration(Math.abs(k * step) / 1000)}` });
    return out;
  }
  const zone = mode === "utc" ? "UTC" : undefined;
  const date = new Intl.DateTimeFormat("en-GB", { timeZone: zone, weekday: "short", day: "numeric", month: "short" });
  const time = new Intl.DateTimeFormat("en-GB", { timeZone: zone, hour: "2-digit", minute: "2-digit" });
  // From midnight on, by the calendar: days of a change of the clocks have other lengths.
  const at = new Date(within.from);
  if (zone) at.setUTCHours(0, 0, 0, 0);
  else at.setHours(0, 0, 0, 0);
  for (; at.getTime() < within.to; zone ? at.setUTCDate(at.getUTCDate() + Math.max(1, step / day)) : at.setDate(at.getDate() + Math.max(1, step / day))) {
    for (let t = at.getTime(); t < at.getTime() + Math.max(step, day) && t < within.to; t += step) {
      if (t >= within.from) out.push({ at: t, word: t === at.getTime() ? date.format(t) : time.format(t) });
      if (step >= day) break;
    }
  }
  return out;
}
