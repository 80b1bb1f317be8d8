// What the caller may do. Changes that the caller may not make stay in sight, disabled, with the role that they need.
import { me } from "./feed.svelte.ts";
import { net } from "./net.svelte.ts";

export type Role = "viewer" | "user" | "operator" | "admin";

const ranks = ["viewer", "user", "operator", "admin"];

// lacks returns which role the caller lacks; empty: the caller's role suffices.
export function lacks(role: Role): string {
  const caller = me.caller;
  if (!caller) return "not known yet";
  return ranks.indexOf(caller.role) >= ranks.indexOf(role) ? "" : "needs the role " + role;
}

// off returns why a change that needs a role cannot be made now; empty: it can.
export function off(role: Role): string {
  return lacks(role) || (net.phase === "live" ? "" : "no peer answers at the moment");
}
