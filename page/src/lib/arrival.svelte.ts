// How the page was opened: at /ui/login, perhaps with a one-time code behind the #, which leaves the address at once.
import { say } from "./actions.svelte.ts";
import { Failure, signIn } from "./net.svelte.ts";
import { go, place } from "./router.svelte.ts";
import type { Whoami } from "./types.ts";

export const arrival = $state({
  failed: "", // why the code did not sign in
  user: "", // of the session that this browser has already, while it is asked whether the code is to count; empty: nothing is asked
});

let answer: ((yes: boolean) => void) | undefined;

// decide answers whether the code of the address is to count.
export function decide(yes: boolean): void {
  arrival.user = "";
  answer?.(yes);
}

let code = "";
if (place.path === "/login") {
  code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}

// signedInAs returns the user of the session that this browser has already; empty: there is none.
async function signedInAs(): Promise<string> {
  try {
    const r = await fetch("/whoami", { credentials: "include", cache: "no-store" });
    const caller = r.ok ? ((await r.json()) as Whoami) : undefined;
    return caller?.session ? caller.actor.replace(/^user:/, "") : "";
  } catch {
    return "";
  }
}

// redeem signs in with the code, if there is one. A link can come from anywhere, and could sign a visitor in as another user: so a session that there
// is ends only when the visitor agrees, and the page says as which user the code has signed in.
export async function redeem(): Promise<void> {
  const given = code;
  code = "";
  if (!given) return;
  try {
    arrival.user = await signedInAs();
    if (arrival.user && !(await new Promise<boolean>((done) => { answer = done; }))) return;
    const user = await signIn({ code: given });
    say(`Signed in as ${user} by the link that opened this page. If that is not you, sign out in the menu at the right.`, false, true);
  } catch (e) {
    if (!(e instanceof Failure) || e.status !== 409) arrival.failed = e instanceof Error ? e.message : String(e); // 409: no sign-in is needed
  }
}

// enterPage leads from /ui/login to where the user was going, else to the overview.
export function enterPage(): void {
  if (place.path !== "/login") return;
  const to = new URLSearchParams(place.query).get("to") ?? "";
  go(to.startsWith("/") && !to.startsWith("/login") ? to : "/", true);
}
