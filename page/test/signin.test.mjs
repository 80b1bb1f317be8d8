// A cluster that asks for a sign-in: sessions, roles, one-time codes, and what ends a session while the page is used.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { after, before, test } from "node:test";
import { promisify } from "node:util";
import { browser, startAsking, until, violations } from "./cluster.mjs";

let chrome, cluster, ann, bob, anns;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), startAsking()]);
  const user = async (name) => cluster.call("POST", "/tokens", { user: name, role: "user" }, cluster.admin);
  ann = await user("ann");
  bob = await user("bob");
  anns = (await cluster.call("POST", "/queue/submit", { name: "anns", command: "sleep 600", gpu_count: 1 }, ann.token)).job_id;
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

async function open(path) {
  const context = await chrome.newContext({ reducedMotion: "reduce" }), page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.goto(cluster.url + "/ui" + path);
  return { context, page };
}

async function signIn(page, token) {
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
}

const panel = (page) => page.getByRole("heading", { name: "Sign in" });
const signedIn = (page) => panel(page).waitFor({ state: "hidden" });

test("a token opens a session, for what its role allows, until it is revoked", async () => {
  const { context, page } = await open("/queue?user=ann");
  await panel(page).waitFor();
  assert.deepEqual(await violations(page), []);
  await signIn(page, "berth_of_nobody");
  await page.getByText("do not accept this token").waitFor();
  const sent = [];
  page.on("request", (r) => { if (r.headers().authorization) sent.push(r.url()); });
  await signIn(page, bob.token);
  const row = page.locator(`[data-id="${anns}"]`);
  await row.waitFor();
  await signedIn(page);
  await row.getByRole("checkbox").check();
  await page.getByText("needs the role operator: the job is ann's").waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel" }).isDisabled(), true);
  await page.keyboard.press("Escape");
  // The session is a cookie that scripts cannot read; it outlives a reload, and other windows have it, too.
  const cookies = await context.cookies(cluster.url);
  assert.equal(cookies.length, 1);
  assert.match(cookies[0].name, /^berth-[0-9a-f]{32}$/);
  assert.deepEqual([cookies[0].httpOnly, cookies[0].sameSite, cookies[0].path], [true, "Strict", "/"]);
  assert.notEqual(cookies[0].value, bob.token);
  assert.equal(await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie }).includes("berth")), false);
  await page.reload();
  await row.waitFor();
  const second = await context.newPage();
  await second.goto(cluster.url + "/ui/queue");
  await second.locator(`[data-id="${anns}"]`).waitFor();
  await second.close();
  assert.deepEqual(sent, []);
  await cluster.call("DELETE", "/tokens/" + bob.id, undefined, cluster.admin);
  await panel(page).waitFor();
  assert.match(page.url(), /user=ann/);
  await signIn(page, cluster.admin);
  await signedIn(page);
  await row.getByRole("checkbox").check();
  await until("an admin may cancel", () => page.getByRole("button", { name: "Cancel" }).isEnabled());
  await context.close();
});

test("what was typed stays when the session ends in the middle", async () => {
  const { context, page } = await open("/submit");
  await signIn(page, ann.token);
  await signedIn(page);
  const command = page.getByRole("textbox", { name: /^(Command|Script)/ }).first();
  await command.fill("python train.py --half");
  const session = (await cluster.call("GET", "/tokens?user=ann", undefined, cluster.admin)).tokens.find((t) => t.session);
  await cluster.call("DELETE", "/tokens/" + session.id, undefined, cluster.admin);
  await panel(page).waitFor();
  await signIn(page, ann.token);
  await signedIn(page);
  assert.equal(await command.inputValue(), "python train.py --half");
  await context.close();
});

test("berth ui signs in once, and Sign out ends the session in all windows", async () => {
  const { stdout } = await promisify(execFile)(cluster.program, ["ui", "--no-open", "--address", new URL(cluster.url).host], { env: { ...process.env, BERTH_TOKEN: ann.token } });
  const address = stdout.trim(), context = await chrome.newContext({ reducedMotion: "reduce" }), page = await context.newPage();
  assert.match(address, /\/ui\/login#code=berth_/);
  page.setDefaultTimeout(20_000);
  await page.goto(address);
  await page.getByRole("heading", { name: "GPUs" }).first().waitFor();
  await until("the page leads to the overview", () => page.url() === cluster.url + "/ui/");
  assert.equal(await page.evaluate(() => location.hash), "");
  await page.getByText("Signed in as ann by the link").waitFor();
  const second = await context.newPage();
  await second.goto(cluster.url + "/ui/queue");
  await second.locator(`[data-id="${anns}"]`).waitFor();
  await page.locator("header summary").click();
  await page.getByRole("button", { name: "Sign out" }).click();
  await panel(page).waitFor();
  await panel(second).waitFor();
  assert.deepEqual(await context.cookies(cluster.url), []);
  await context.close();
  const again = await open(address.slice(address.indexOf("/login")));
  await again.page.getByText("was used already").waitFor();
  assert.equal(await again.page.evaluate(() => location.hash), "");
  await signIn(again.page, ann.token);
  await until("the page leads to the overview", () => again.page.url() === cluster.url + "/ui/");
  await again.context.close();
});

test("under another host, to which the session does not go along, the page leads with a code", async () => {
  const context = await chrome.newContext({ reducedMotion: "reduce", bypassCSP: true }), page = await context.newPage();
  page.setDefaultTimeout(20_000);
  await page.addInitScript(() => { delete globalThis.SharedWorker; }); // whose requests could not be answered here
  const other = "http://other.example:1", cors = { "Access-Control-Allow-Origin": cluster.url, "Access-Control-Allow-Credentials": "true", "Access-Control-Allow-Headers": "*" };
  const refused = { status: 401, headers: cors, contentType: "application/problem+json", body: '{"title":"Unauthorized","status":401,"code":"unauthenticated","detail":"no session"}' };
  await page.route(other + "/**", (r) => r.fulfill(r.request().isNavigationRequest() ? { contentType: "text/html", body: "<h1>There</h1>" } : refused));
  await page.route(cluster.url + "/cluster/peers*", async (r) => {
    const response = await r.fetch(), json = await response.json();
    for (const p of json.peers ?? []) if (!p.self) p.public_url = other;
    await r.fulfill({ response, json });
  });
  await page.route(cluster.url + "/events*", (r) => r.abort());
  await page.goto(cluster.url + "/ui/queue?user=ann");
  await signIn(page, ann.token);
  await page.getByRole("heading", { name: "Go on at another peer" }).waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Open the page at other.example:1" }).click();
  await page.getByRole("heading", { name: "There" }).waitFor();
  const [, to, code] = page.url().match(/^http:\/\/other\.example:1\/ui\/login\?to=([^#]+)#code=(berth_.+)$/);
  assert.equal(decodeURIComponent(to), "/queue?user=ann");
  const signedIn = await fetch(cluster.url + "/session", { method: "POST", body: JSON.stringify({ code }) });
  assert.equal(signedIn.status, 200);
  assert.equal((await signedIn.json()).name, "ann");
  await context.close();
});

// The last one: afterwards a peer is gone.
test("the session goes along to another peer of the host", async () => {
  const { context, page } = await open("/queue?user=ann");
  await signIn(page, ann.token);
  const row = page.locator(`[data-id="${anns}"]`);
  await row.waitFor();
  process.kill(cluster.members().get("p1").pid, "SIGKILL");
  await page.getByText(/Live\s*·\s*p[23]/).waitFor();
  await row.getByRole("checkbox").check();
  await until("changes go on", () => page.getByRole("button", { name: "Cancel" }).isEnabled());
  assert.equal(await panel(page).count(), 0);
  await context.close();
});

test("a link does not replace a session that there is unless the visitor agrees", async () => {
  const { context, page } = await open("/queue");
  await signIn(page, ann.token);
  await signedIn(page);
  const user = async () => (await (await context.request.get(cluster.url + "/whoami")).json()).actor;
  const code = async () => (await cluster.call("POST", "/session/codes", undefined, cluster.admin)).code;
  await page.goto(cluster.url + "/ui/login#code=" + (await code()));
  await page.getByRole("dialog").getByText("This browser is signed in as ann").waitFor();
  assert.deepEqual(await violations(page), []);
  await page.getByRole("button", { name: "Stay ann" }).click();
  await page.getByRole("heading", { name: "GPUs" }).first().waitFor();
  assert.equal(await user(), "user:ann");
  await page.goto("about:blank");
  await page.goto(cluster.url + "/ui/login#code=" + (await code()));
  await page.getByRole("button", { name: "Sign in by the link" }).click();
  await page.getByText(/Signed in as (?!ann)\S+ by the link/).waitFor();
  assert.notEqual(await user(), "user:ann");
  await context.close();
});
