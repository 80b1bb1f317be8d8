// A cluster that asks for tokens: signing in, roles, and the end of a token while the page is used.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, startAsking, until, violations } from "./cluster.mjs";

let chrome, cluster, bob, anns;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), startAsking()]);
  const user = async (name) => cluster.call("POST", "/tokens", { user: name, role: "user" }, cluster.admin);
  const ann = await user("ann");
  bob = await user("bob");
  anns = (await cluster.call("POST", "/queue/submit", { name: "anns", command: "sleep 600", gpu_count: 1 }, ann.token)).job_id;
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

async function signIn(page, token) {
  await page.getByLabel("Token").fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

test("a token opens the page, for what its role allows, until it is revoked", async () => {
  const context = await chrome.newContext({ reducedMotion: "reduce" }), page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(cluster.url + "/ui/queue?user=ann");
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await signIn(page, "berth_of_nobody");
  await page.getByText("do not accept this token").waitFor();
  await signIn(page, bob.token);
  const row = page.locator(`[data-id="${anns}"]`);
  await row.waitFor();
  await page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "hidden" });
  await row.getByRole("checkbox").check();
  await page.getByText("needs the role operator: the job is ann's").waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel" }).isDisabled(), true);
  await page.keyboard.press("Escape");
  // Another window of the same browser needs no token of its own; nothing is stored.
  const second = await context.newPage();
  await second.goto(cluster.url + "/ui/queue");
  await second.locator(`[data-id="${anns}"]`).waitFor();
  assert.deepEqual(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie }).includes("berth_")), false);
  await second.close();
  await cluster.call("DELETE", "/tokens/" + bob.id, undefined, cluster.admin);
  await page.getByRole("heading", { name: "Sign in" }).waitFor();
  assert.match(page.url(), /user=ann/);
  await signIn(page, cluster.admin);
  await page.getByRole("heading", { name: "Sign in" }).waitFor({ state: "hidden" });
  await row.getByRole("checkbox").check();
  await until("an admin may cancel", () => page.getByRole("button", { name: "Cancel" }).isEnabled());
  await context.close();
});
