// Events, the audit trail, webhooks, users and tokens, against a real cluster.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster, first, receiver, port;
const hostile = 'job <script>document.title="owned"</script> مرحبا 😀';

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  receiver = createServer((q, r) => { q.resume(); r.end("ok"); });
  await new Promise((done) => receiver.listen(0, "127.0.0.1", done));
  port = receiver.address().port;
  await cluster.call("PUT", "/webhooks/settings", { allow: "127.0.0.0/8" });
  first = await cluster.submit({ name: hostile, user: "ann" });
  await cluster.submit({ name: "x".repeat(120), user: "bob" });
});

after(async () => {
  receiver?.close();
  await chrome?.close();
  await cluster?.stop();
});

test("the menu More leads to further pages, by keys too", async () => {
  const v = await visit(chrome, cluster, "/");
  await v.page.getByRole("button", { name: "More" }).focus();
  await v.page.keyboard.press("Enter");
  await v.page.getByRole("link", { name: "Settings" }).waitFor();
  await v.page.keyboard.press("Tab");
  await v.page.keyboard.press("Enter");
  await v.page.getByRole("heading", { name: "Events", level: 1 }).waitFor();
  await v.page.getByRole("link", { name: "Settings" }).waitFor({ state: "hidden" });
  await v.page.keyboard.press("g");
  await v.page.keyboard.press("y");
  await v.page.getByRole("heading", { name: "System", level: 1 }).waitFor();
  await v.close();
});

test("events come by themselves, fit the filters in the address, and hold still under the pointer", async () => {
  const v = await visit(chrome, cluster, "/events?user=ann");
  const list = v.page.getByRole("region", { name: "All events" }), rows = list.locator("tbody tr");
  await list.getByText(hostile).first().waitFor();
  assert.equal(await list.getByText("bob", { exact: true }).count(), 0);
  assert.equal(await v.page.locator("script:not([src])").count(), 0);
  await v.page.reload();
  await list.getByText(hostile).first().waitFor();
  await list.hover();
  await list.getByText("Held").waitFor();
  const first = async () => (await rows.first().innerText()).replace(/^[^\t]*\t/, ""); // without its age
  const top = await first();
  const id = await cluster.submit({ name: "later", user: "ann", gpu_count: 8 });
  await list.getByText(/Held: \d+ new/).waitFor();
  assert.equal(await first(), top);
  await v.page.mouse.move(2, 2);
  await rows.filter({ hasText: "later" }).first().waitFor();
  await v.page.getByLabel("Type").fill("job.canceled");
  await v.page.keyboard.press("Enter");
  await list.getByText("No event that is kept fits the filters").waitFor();
  await cluster.call("DELETE", "/queue/" + id);
  await rows.filter({ hasText: "job.canceled" }).waitFor();
  assert.equal(await rows.count(), 1);
  await v.page.goBack();
  await rows.filter({ hasText: "job.queued" }).first().waitFor();
  await v.page.getByLabel("Type").fill("no.such");
  await v.page.keyboard.press("Enter");
  await list.getByRole("alert").waitFor();
  await v.close();
});

test("a burst of 1,000 events a second blocks nothing, and a reset begins again", async () => {
  const context = await chrome.newContext({ reducedMotion: "reduce" }), page = await context.newPage();
  await page.addInitScript(() => {
    const real = window.fetch;
    window.asked = [];
    const told = new Promise((done) => { window.reset = done; });
    window.fetch = (url, o) => {
      if (!String(url).includes("/events?") || String(url).includes("types=changed")) return real(url, o);
      window.asked.push(String(url));
      let n = 0, sent = window.asked.length > 1 ? 2000 : 0;
      const text = new TextEncoder(), body = new ReadableStream({
        async pull(c) {
          if (sent > 1500) return new Promise(() => undefined);
          if (sent === 1500) {
            sent++;
            await told;
            return c.enqueue(text.encode(`id: a-9999-1\nevent: reset\ndata: {"id":"a-9999-1","type":"reset","timestamp":"2026-01-01T00:00:00Z","target":"events","data":{}}\n\n`));
          }
          await new Promise((done) => setTimeout(done, 50));
          let out = "";
          for (let i = 0; i < 50 && sent < 1500; i++, sent++) out += `id: a-${++n}-1\ndata: ${JSON.stringify({ id: `a-${n}-1`, type: "job.started", timestamp: new Date().toISOString(), target: `job ${n}`, actor: "node:gpu1", data: { job_id: String(n), user: "ann", name: "burst" } })}\n\n`;
          c.enqueue(text.encode(out));
        },
      });
      return Promise.resolve(new Response(body, { headers: { "Content-Type": "text/event-stream" } }));
    };
  });
  await page.goto(cluster.url + "/ui/queue");
  await page.locator(".status.live").waitFor();
  await page.getByRole("button", { name: "More" }).click();
  await chrome.startTracing(page, { categories: ["toplevel", "disabled-by-default-devtools.timeline"] });
  await page.getByRole("link", { name: "Events" }).click();
  await page.getByText("1,000 events").waitFor();
  assert.equal(await page.getByRole("region", { name: "All events" }).locator("tbody tr").count(), 100);
  await page.evaluate(() => window.reset());
  await page.getByText("Some events were missed").waitFor();
  await page.waitForFunction(() => window.asked.length > 1);
  const asked = await page.evaluate(() => window.asked), trace = JSON.parse(await chrome.stopTracing());
  assert.equal(asked.length, 2);
  assert.match(asked[1], /last=200/);
  assert.doesNotMatch(asked[1], /after=/);
  // Processor time, since the machine of the tests does other things, too.
  const main = new Set(trace.traceEvents.filter((e) => e.name === "thread_name" && e.args.name === "CrRendererMain").map((e) => `${e.pid} ${e.tid}`));
  const tasks = trace.traceEvents.filter((e) => e.ph === "X" && e.tdur !== undefined && /RunTask$/.test(e.name) && main.has(`${e.pid} ${e.tid}`)).map((e) => e.tdur / 1000);
  assert.ok(tasks.length > 50, `${tasks.length} tasks`);
  assert.ok(Math.max(...tasks) <= 100, `a task took ${Math.max(...tasks)} ms`);
  await context.close();
});

test("the audit trail is searched, read further back, and verified", async () => {
  for (let i = 0; i < 105; i++) await cluster.call("PATCH", `/queue/${first}/priority`, { priority: 1 + (i % 4) });
  const v = await visit(chrome, cluster, "/events?tab=audit&target=job+" + first);
  const list = v.page.getByRole("region", { name: "Records" }), rows = list.locator("tbody tr");
  await until("a page", async () => (await rows.count()) === 100);
  await list.getByRole("button", { name: "Older" }).click();
  await until("all records", async () => (await rows.count()) > 105);
  await v.page.getByLabel("Action").fill("submit");
  await v.page.keyboard.press("Enter");
  await until("one record", async () => (await rows.count()) === 1);
  assert.match(v.page.url(), /action=submit/);
  await rows.getByText(/^record/).click();
  await rows.getByText(/log entry \d+/).waitFor();
  await v.page.getByRole("button", { name: "Verify the chain" }).click();
  await v.page.getByText("The trail is complete and unchanged").waitFor();
  await v.page.getByLabel("Which records").selectOption("refusals");
  await v.page.getByText(/each peer keeps its own/).waitFor();
  await v.close();
});

test("a webhook is added, tested and removed", async () => {
  const v = await visit(chrome, cluster, "/events?tab=webhooks");
  const form = v.page.getByRole("form", { name: "Add a webhook" });
  await form.getByLabel("Address").fill("http://10.0.0.1/x");
  await form.getByRole("button", { name: "Add" }).click();
  await form.locator(".bad").getByText(/10\.0\.0\.1/).waitFor();
  await form.getByLabel("Address").fill(`http://127.0.0.1:${port}/hook`);
  await form.getByLabel("Events").fill("failed, node.*");
  await form.getByRole("button", { name: "Add" }).click();
  const secret = v.page.getByRole("textbox", { name: "The secret that signs deliveries" });
  assert.match(await secret.inputValue(), /^whsec_/);
  await v.page.getByRole("button", { name: "Close", exact: true }).first().click();
  const hooks = v.page.getByRole("region", { name: "Webhooks" });
  await hooks.getByRole("button", { name: "Test" }).click();
  await v.page.getByRole("region", { name: "Deliveries" }).getByText("✓ delivered").waitFor();
  assert.match(v.page.url(), /of=wh_/);
  await hooks.getByRole("button", { name: "Remove" }).click();
  await v.page.getByRole("dialog").getByText("It gets no more events").waitFor();
  await v.page.getByRole("dialog").getByRole("button", { name: "Remove" }).click();
  await hooks.getByText("There are none.").waitFor();
  await v.close();
});

test("users and tokens: added, shown once, removed with what ends", async () => {
  const v = await visit(chrome, cluster, "/people");
  const form = v.page.getByRole("form", { name: "Add or change a user" });
  await form.getByLabel("Name").fill("zoe");
  await form.getByLabel("Projects").fill("vision, speech");
  await form.getByRole("button", { name: "Add" }).click();
  const row = v.page.getByRole("region", { name: "Users" }).locator("tr", { hasText: "zoe" });
  await row.getByText("speech, vision").or(row.getByText("vision, speech")).waitFor();
  await row.getByRole("button", { name: "Change" }).click();
  await form.getByLabel("Role").selectOption("operator");
  await form.getByLabel("Projects").fill("vision");
  await form.getByRole("button", { name: "Save" }).click();
  await row.getByText("operator").waitFor();
  assert.deepEqual((await cluster.call("GET", "/users")).users.find((u) => u.name === "zoe").projects, ["vision"]);
  await v.page.getByRole("link", { name: "Tokens" }).click();
  const make = v.page.getByRole("form", { name: "Create a token" });
  await make.getByLabel("User", { exact: true }).fill("zoe");
  await make.getByLabel("Name of the token").fill("laptop");
  await make.getByLabel("Lifetime").fill("soon");
  await make.getByRole("button", { name: "Create" }).click();
  await make.locator(".bad").waitFor();
  await make.getByLabel("Lifetime").fill("7d");
  await make.getByRole("button", { name: "Create" }).click();
  const secret = v.page.getByRole("textbox", { name: /The token of zoe/ });
  assert.match(await secret.inputValue(), /^berth_/);
  await v.page.reload();
  await v.page.getByText("laptop").waitFor();
  assert.equal(await secret.count(), 0);
  await v.page.getByRole("link", { name: "Users" }).click();
  await row.getByRole("button", { name: "Remove" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByText("1 token: laptop").waitFor();
  await dialog.getByText("0 webhooks").waitFor();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await row.waitFor({ state: "detached" });
  await v.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the ${colorScheme}`, async () => {
    const v = await visit(chrome, cluster, "/", { colorScheme });
    await v.page.getByRole("button", { name: "More" }).click();
    assert.deepEqual(await violations(v.page), [], "the menu");
    const shown = { "/events": "All events", "/events?tab=audit": "Records", "/events?tab=webhooks": "Deliveries", "/people": "Users", "/people?tab=tokens": "Tokens", "/people?tab=projects": "Projects" };
    for (const [path, region] of Object.entries(shown)) {
      await v.page.goto(cluster.url + "/ui" + path);
      await v.page.getByRole("region", { name: region, exact: true }).waitFor();
      assert.deepEqual(await violations(v.page), [], path);
    }
    await v.close();
  });
}

test("at 390 px no page is wider than the window", async () => {
  const v = await visit(chrome, cluster, "/events", { viewport: { width: 390, height: 844 } });
  const tables = ["/events", "/events?tab=audit", "/settings", "/system", "/system?tab=keys"];
  for (const path of [...tables, "/events?tab=webhooks", "/people", "/people?tab=tokens"]) {
    await v.page.goto(cluster.url + "/ui" + path);
    await v.page.locator(tables.includes(path) ? "main tbody tr" : "main form").first().waitFor();
    assert.ok(await v.page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), path);
  }
  await v.close();
});
