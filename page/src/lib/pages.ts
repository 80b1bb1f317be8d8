// The pages, each loaded when it is first shown, and all of them once nothing else is to be done: another peer may have another version.
import type { Component } from "svelte";

// A page with more is in the menu "More".
export type Page = { name: string; path: string; key: string; more?: true; load: () => Promise<{ default: Component }> };

export const pages: Page[] = [
  { name: "Overview", path: "/", key: "o", load: () => import("../pages/Overview.svelte") },
  { name: "Queue", path: "/queue", key: "q", load: () => import("../pages/jobs.ts").then((m) => ({ default: m.Queue })) },
  { name: "GPUs", path: "/gpus", key: "u", load: () => import("../pages/fleet.ts").then((m) => ({ default: m.Gpus })) },
  { name: "Schedule", path: "/plan", key: "d", load: () => import("../pages/planning.ts").then((m) => ({ default: m.Schedule })) },
  { name: "Usage", path: "/usage", key: "h", load: () => import("../pages/planning.ts").then((m) => ({ default: m.Usage })) },
  { name: "Reservations", path: "/reservations", key: "r", load: () => import("../pages/planning.ts").then((m) => ({ default: m.Reservations })) },
  { name: "Submit", path: "/submit", key: "s", load: () => import("../pages/jobs.ts").then((m) => ({ default: m.Submit })) },
  { name: "Events", path: "/events", key: "e", more: true, load: () => import("../pages/admin.ts").then((m) => ({ default: m.Events })) },
  { name: "People", path: "/people", key: "p", more: true, load: () => import("../pages/admin.ts").then((m) => ({ default: m.People })) },
  { name: "Settings", path: "/settings", key: "t", more: true, load: () => import("../pages/admin.ts").then((m) => ({ default: m.Settings })) },
  { name: "System", path: "/system", key: "y", more: true, load: () => import("../pages/admin.ts").then((m) => ({ default: m.System })) },
];

const inner: { match: RegExp; name: string; load: Page["load"] }[] = [
  { match: /^\/jobs\/[^/]+$/, name: "Job", load: () => import("../pages/jobs.ts").then((m) => ({ default: m.Job })) },
  { match: /^\/nodes\/[^/]+$/, name: "Node", load: () => import("../pages/fleet.ts").then((m) => ({ default: m.Node })) },
];

// pageAt finds the page of a path.
export function pageAt(path: string): { name: string; load: Page["load"] } | undefined {
  return pages.find((p) => p.path === path) ?? inner.find((p) => p.match.test(path));
}

// fetchAll loads all pages.
export async function fetchAll(): Promise<void> {
  await Promise.all([...pages, ...inner].map((p) => p.load()));
}
