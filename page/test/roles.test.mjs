// What users and viewers see of the pages for operators and admins: all of it stays in sight, and says which role it needs.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, startAsking, until, violations } from "./cluster.mjs";

let chrome, cluster, ann, olga;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), startAsking()]);
  const token = async (user, role) => (await cluster.call("POST", "/tokens", { user, role }, cluster.admin)).token;
  [ann, olga] = [await token("ann", "user"), await token("olga", "operator")];
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

async function as(token, path) {
  const context = await chrome.newContext({ reducedMotion: "reduce" }), page = await context.newPage();
  page.setDefaultTimeout(15_000);
  await page.goto(cluster.url + "/ui" + path);
  await page.getByLabel("Token", { exact: true }).fill(token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.locator(".status.live").waitFor();
  // to goes to another page without a reload, which would ask for the token again.
  const to = (p) => page.evaluate((x) => { history.pushState(null, "", "/ui" + x); dispatchEvent(new PopStateEvent("popstate")); }, p);
  return { page, to, close: () => context.close() };
}

test("a user reads, and is told what needs another role", async () => {
  const { page, to, close } = await as(ann, "/events?tab=audit");
  await page.getByText("The record of all changes").getByText("needs the role operator").waitFor();
  await to("/people");
  await page.getByRole("region", { name: "You" }).getByText("user:ann").waitFor();
  await page.getByRole("region", { name: "Users" }).getByText("needs the role admin").waitFor();
  assert.equal(await page.getByRole("button", { name: "Add", exact: true }).isDisabled(), true);
  await to("/settings");
  await page.getByText("needs the role admin").first().waitFor();
  assert.equal(await page.getByLabel("jobs.max_retries").isDisabled(), true);
  assert.equal(await page.getByRole("region", { name: "Scheduler" }).getByRole("button", { name: "Stop" }).isDisabled(), true);
  await to("/system");
  await page.getByRole("button", { name: "Remove" }).first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Remove" }).first().isDisabled(), true);
  await to("/system?tab=keys");
  await page.getByText("needs the role operator").waitFor();
  await to("/system?tab=scheduler");
  await page.getByRole("button", { name: "Download" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Download" }).isDisabled(), true);
  await to("/nodes/node1");
  await page.getByRole("button", { name: "Labels" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Labels" }).isDisabled(), true);
  assert.deepEqual(await violations(page), []);
  await close();
});

test("a user has own tokens: makes one, and revokes it", async () => {
  const { page, close } = await as(ann, "/people?tab=tokens");
  const list = page.getByRole("region", { name: "Tokens" });
  await list.getByText("this one").waitFor();
  const form = page.getByRole("form", { name: "Create a token" });
  assert.equal(await form.getByLabel("User", { exact: true }).isDisabled(), true);
  await form.getByLabel("Role").selectOption("admin");
  await form.getByLabel("Lifetime").fill("1h");
  await form.getByLabel("Name of the token").fill("mine");
  await form.getByRole("button", { name: "Create" }).click();
  await form.getByText(/role must be at most user/).waitFor();
  await form.getByLabel("Role").selectOption("viewer");
  await form.getByRole("button", { name: "Create" }).click();
  const made = await page.getByRole("textbox", { name: /The token of ann, role viewer/ }).inputValue();
  assert.equal((await cluster.call("GET", "/whoami", undefined, made)).role, "viewer");
  await list.locator("tr", { hasText: "mine" }).getByRole("button", { name: "Revoke" }).click();
  await page.getByRole("dialog").getByText("Programs and browsers of").waitFor();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await list.locator("tr", { hasText: "mine" }).waitFor({ state: "detached" });
  await assert.rejects(cluster.call("GET", "/whoami", undefined, made), /401/);
  await close();
});

test("an operator reads the audit trail, and changes no settings", async () => {
  const { page, to, close } = await as(olga, "/events?tab=audit&action=make_token");
  await page.getByRole("region", { name: "Records" }).getByText("user ann").first().waitFor();
  await to("/events?tab=webhooks");
  await page.getByRole("form", { name: "Settings of webhooks" }).getByText("needs the role admin").waitFor();
  assert.equal(await page.getByLabel("Where they may go").isDisabled(), true);
  await to("/system?tab=keys");
  await page.getByRole("region", { name: "Certificates" }).getByText("p1").first().waitFor();
  assert.equal(await page.getByRole("button", { name: "Refuse" }).first().isDisabled(), true);
  await to("/system?tab=scheduler");
  await page.getByRole("region", { name: "Scheduler" }).getByText("▶\uFE0E runs").waitFor();
  assert.equal(await page.getByRole("region", { name: "Scheduler" }).getByRole("button", { name: "Stop" }).isDisabled(), false);
  await close();
});

const order = ["viewer", "user", "operator", "admin"];

// What each page offers from which role on. Pages without an entry offer the same to all.
const least = {
  "/": {}, "/queue": {}, "/gpus": {}, "/plan": {}, "/usage": {}, "/usage?part=history": {}, "/events": {}, "/people?tab=tokens": {},
  "/jobs/JOB": { Cancel: "operator", Requeue: "operator", Priority: "operator" },
  "/nodes/node1": { Cordon: "operator", Drain: "operator", Labels: "operator" },
  "/usage?part=shares": { "Set a share": "admin" },
  "/usage?part=quotas": { "Set a quota": "admin" },
  "/reservations": { Reserve: "user" },
  "/reservations?part=services": { "Allocate GPUs": "user" },
  "/settings": { Stop: "operator" },
  "/system": { "Let it lead": "admin", Remove: "admin" },
  "/system?tab=join": { Create: "admin" },
  "/system?tab=scheduler": { Stop: "operator", Download: "admin" },
};

// What those see in place of a part that they may not read.
const closed = {
  "/submit": ["user", "needs the role user"], "/events?tab=audit": ["operator", "needs the role operator"], "/events?tab=webhooks": ["user", "needs the role user"],
  "/people?tab=users": ["admin", "needs the role admin"], "/system?tab=keys": ["operator", "needs the role operator"],
};

for (const role of order) {
  test(`every page for a ${role}`, async () => {
    const may = (r) => order.indexOf(role) >= order.indexOf(r);
    const job = (await cluster.call("POST", "/queue/submit", { name: "anns", command: "sleep 600", gpu_count: 1 }, ann)).job_id;
    const token = (await cluster.call("POST", "/tokens", { user: "a-" + role, role }, cluster.admin)).token;
    const { page, to, close } = await as(token, "/");
    const errors = [];
    page.on("pageerror", (e) => errors.push(e.message));
    for (const [path, controls] of Object.entries(least)) {
      await to(path.replace("JOB", job));
      await page.locator("main").locator("h1, h2").first().waitFor();
      for (const [name, needs] of Object.entries(controls)) {
        const button = page.locator("main").getByRole("button", { name, exact: true }).first();
        await button.waitFor();
        await until(`${path}: ${name} is ${may(needs) ? "on" : "off"}`, async () => (await button.isDisabled()) !== may(needs), 10_000);
      }
    }
    for (const [path, [needs, text]] of Object.entries(closed)) {
      await to(path);
      await page.locator("main").locator("h1, h2").first().waitFor();
      const says = page.locator("main").getByText(text).first();
      if (may(needs)) await says.waitFor({ state: "hidden" });
      else await says.waitFor();
    }
    assert.deepEqual(errors, []);
    await cluster.call("DELETE", "/queue/" + job, undefined, cluster.admin);
    await close();
  });
}

test("without a sign-in no page shows anything of the cluster", async () => {
  const context = await chrome.newContext(), page = await context.newPage();
  page.setDefaultTimeout(15_000);
  for (const path of ["/", "/queue", "/nodes/node1", "/settings", "/system"]) {
    await page.goto(cluster.url + "/ui" + path);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    assert.doesNotMatch(await page.locator("body").innerText(), /node1|olga|ann\b/);
  }
  await context.close();
});
