// Changes of settings that are not saved yet, each with the value that it was made from: what others have changed meanwhile shows by that.
import type { Setting } from "./types.ts";

export type Edit = { base: string; value: string };

// withEdit returns the changes with a setting set to a value; one that is set back to what is in force is no change.
export function withEdit(edits: Record<string, Edit>, s: Setting, value: string): Record<string, Edit> {
  const { [s.name]: old, ...rest } = edits;
  const base = old?.base ?? s.value;
  return value === base && value === s.value ? rest : { ...rest, [s.name]: { base, value } };
}

// conflicts returns the names of the settings that have another value in force than the one that a change was made from.
export function conflicts(edits: Record<string, Edit>, now: Setting[]): string[] {
  return now.filter((s) => edits[s.name] && edits[s.name]!.base !== s.value && edits[s.name]!.value !== s.value).map((s) => s.name);
}

// choices returns the values of a setting that allows a few words only; empty: it is typed.
export function choices(allowed: string): string[] {
  const words = allowed.split(/, | or /).map((w) => w.trim());
  return words.length > 1 && words.length <= 6 && words.every((w) => /^[a-z_]+$/.test(w) && w !== "number" && w !== "duration") ? words : [];
}

// errorsBySetting places a message at the setting whose name it begins with.
export function errorsBySetting(message: string, names: string[]): Record<string, string> {
  const name = [...names].sort((a, b) => b.length - a.length).find((n) => message.startsWith(n) || message.startsWith(n.replace(/^[^.]*\./, "") + ":"));
  return name ? { [name]: message } : {};
}
