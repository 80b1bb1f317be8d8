// What the caller's role allows. The peers decide; the page says beforehand what they would refuse.
import { me } from "./feed.svelte.ts";

const order = ["viewer", "user", "operator", "admin"];

// lacks returns which role the caller would need; empty: the role suffices.
export function lacks(role: "user" | "operator" | "admin"): string {
  if (!me.caller) return "not known yet";
  return order.indexOf(me.caller.role) >= order.indexOf(role) ? "" : `needs the role ${role}`;
}
