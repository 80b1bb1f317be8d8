// How the page was opened: at /ui/login, perhaps with a one-time code behind the #, which leaves the address at once.
import { Failure, signIn } from "./net.svelte.ts";
import { go, place } from "./router.svelte.ts";

export const arrival = $state({ failed: "" }); // why the code did not sign in

let code = "";
if (place.path === "/login") {
  code = new URLSearchParams(location.hash.slice(1)).get("code") ?? "";
  if (location.hash) history.replaceState(null, "", location.pathname + location.search);
}

// redeem signs in with the code, if there is one.
export async function redeem(): Promise<void> {
  const given = code;
  code = "";
  if (!given) return;
  try {
    await signIn({ code: given });
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
