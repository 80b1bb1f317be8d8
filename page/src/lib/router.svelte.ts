// Where the page is: its path below /ui, and the filters in its query.
export const root = "/ui";

export const place = $state({ path: here(), query: location.search });

function here(): string {
  return location.pathname.replace(/^\/ui/, "") || "/";
}

function take(): void {
  place.path = here();
  place.query = location.search;
}

addEventListener("popstate", take);

// go shows another place of the page.
export function go(to: string, replace = false): void {
  const url = root + to;
  if (url === location.pathname + location.search) return;
  const moved = url.split("?")[0] !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  take();
  if (moved) {
    scrollTo(0, 0);
    // Readers of the screen hear the new page, and the next Tab begins there.
    queueMicrotask(() => document.getElementById("main")?.focus({ preventScroll: true }));
  }
}

// href returns the address of a place, for links.
export function href(to: string): string {
  return root + to;
}

// name returns the part of the path behind the page's own: the id of a job, the name of a node.
export function name(path: string): string {
  const part = path.split("/")[2] ?? "";
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // it was typed wrong, and there is no such thing
  }
}

// jobPlace returns the place of a job, or of a task of one, as commands name them: "17", "17.3", "17_3".
export function jobPlace(job: string): string {
  const task = /^(\d+)[._](\d+)$/.exec(job);
  return task ? `/jobs/${task[1]}?task=${task[2]}` : "/jobs/" + encodeURIComponent(job);
}

// follows takes clicks on links into the page; others are the browser's.
export function follows(e: MouseEvent): void {
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || e.defaultPrevented || e.button !== 0 || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey || a.target || a.hasAttribute("download")) return;
  const url = new URL(a.href, location.href);
  if (url.origin !== location.origin || !(url.pathname === root || url.pathname.startsWith(root + "/"))) return;
  if (url.hash && url.pathname === location.pathname) return;
  e.preventDefault();
  go((url.pathname.slice(root.length) || "/") + url.search);
}

// filter returns a value of the query.
export function filter(name: string): string {
  return new URLSearchParams(place.query).get(name) ?? "";
}

// setFilters changes values of the query; empty ones are left out. Typing replaces the entry of the history, choices add one.
export function setFilters(values: Record<string, string>, replace = false): void {
  const q = new URLSearchParams(place.query);
  for (const [name, value] of Object.entries(values)) {
    if (value) q.set(name, value);
    else q.delete(name);
  }
  const text = q.toString();
  go(place.path + (text ? "?" + text : ""), replace);
}
