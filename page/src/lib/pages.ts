// The pages, each loaded when it is first shown, and all of them once nothing else is to be done: another peer may have another version.
import type { Component } from "svelte";

// A page with more is in the menu "More".
export type Page = { name: string; path: string; key: string; more?: true; load: () => Promise<{ default: Component }> };

export const pages: Page[] = [
  { name: "Overview", path: "/", key: "o", load: () => import("../pages/Overview.svelte") },
  { name: "Queue", path: "/queue", key: "q", load: () => import("../pages/Queue.svelte") },
  { name: "GPUs", path: "/gpus", key: "u", load: () => import("../pages/Gpus.svelte") },
  { name: "Schedule", path: "/plan", key: "d", load: () => import("../pages/Schedule.svelte") },
  { name: "Usage", path: "/usage", key: "h", load: () => import("../pages/Usage.svelte") },
  { name: "Reservations", path: "/reservations", key: "r", load: () => import("../pages/Reservations.svelte") },
  { name: "Submit", path: "/submit", key: "s", load: () => import("../pages/Submit.svelte") },
  { name: "Events", path: "/events", key: "e", more: true, load: () => import("../pages/Events.svelte") },
  { name: "People", path: "/people", key: "p", more: true, load: () => import("../pages/People.svelte") },
  { name: "Settings", path: "/settings", key: "t", more: true, load: () => import("../pages/Settings.svelte") },
  { name: "System", path: "/system", key: "y", more: true, load: () => import("../pages/System.svelte") },
];

const inner: { match: RegExp; name: string; load: Page["load"] }[] = [
  { match: /^\/jobs\/[^/]+$/, name: "Job", load: () => import("../pages/Job.svelte") },
  { match: /^\/nodes\/[^/]+$/, name: "Node", load: () => import("../pages/Node.svelte") },
];

// pageAt finds the page of a path.
export function pageAt(path: string): { name: string; load: Page["load"] } | undefined {
  return pages.find((p) => p.path === path) ?? inner.find((p) => p.match.test(path));
}

// fetchAll loads all pages.
export async function fetchAll(): Promise<void> {
  await Promise.all([...pages, ...inner].map((p) => p.load()));
}
