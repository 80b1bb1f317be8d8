// Choices of how the page looks. They stay in the browser.
export type Theme = "auto" | "light" | "dark";

function read(key: string): string {
  try {
    return localStorage.getItem(key) ?? "";
  } catch {
    return "";
  }
}

function write(key: string, value: string): void {
  try {
    localStorage.setItem(key, value);
  } catch { /* a browser may keep nothing */ }
}

const theme = read("berth-theme");

export const prefs = $state({
  theme: (theme === "light" || theme === "dark" ? theme : "auto") as Theme,
  compact: read("berth-rows") === "compact",
  keys: read("berth-keys") !== "off", // single keys do something
  wrap: read("berth-wrap") === "on",
  times: read("berth-line-times") === "on",
});

export function setTheme(to: Theme): void {
  prefs.theme = to;
  write("berth-theme", to);
}

export function setCompact(to: boolean): void {
  prefs.compact = to;
  write("berth-rows", to ? "compact" : "");
}

export function setWrap(to: boolean): void {
  prefs.wrap = to;
  write("berth-wrap", to ? "on" : "");
}

export function setTimes(to: boolean): void {
  prefs.times = to;
  write("berth-line-times", to ? "on" : "");
}

export function setKeys(to: boolean): void {
  prefs.keys = to;
  write("berth-keys", to ? "" : "off");
}
