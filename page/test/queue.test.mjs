// A long queue: what is selected is what is changed, whatever moves, and times are those of the cluster.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, start, until, visit } from "./cluster.mjs";

let chrome, cluster, ids;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  await cluster.submit({ name: "holds all", user: "ann", gpu_count: 4 });
  await cluster.submit({ name: "holds all", user: "ann", gpu_count: 4 });
  await until("both run", async () => (await cluster.call("GET", "/queue")).running.filter((j) => j.state === "running").length === 2);
  ids = await Promise.all(Array.from({ length: 90 }, (_, i) => cluster.submit({ name: `job ${i}`, user: i % 2 ? "bob" : "carl", gpu_count: 1 })));
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

test("the jobs that were selected are canceled, and no others, while rows come, go and move", async () => {
  const v = await visit(chrome, cluster, "/queue?show=waiting&sort=id");
  const row = (i) => v.page.locator(`[data-row="${i}"]`);
  await row(24).waitFor();
  const chosen = await Promise.all(Array.from({ length: 25 }, (_, i) => row(i).getAttribute("data-id")));
  await row(0).getByRole("checkbox").check();
  await row(24).getByRole("checkbox").click({ modifiers: ["Shift"] });
  await v.page.getByText("25 jobs selected").waitFor();
  // Meanwhile the queue changes: one of those that were selected ends, another has become more urgent, new ones come.
  await cluster.call("DELETE", "/queue/" + chosen[3]);
  await cluster.call("PATCH", `/queue/${chosen[5]}/priority`, { priority: 4 });
  const late = await cluster.submit({ name: "late", user: "dora", gpu_count: 1, priority: 4 });
  await v.page.getByText(/changed since the order was fixed/).waitFor();
  await v.page.getByRole("button", { name: "Cancel", exact: true }).click();
  const dialog = v.page.getByRole("dialog");
  const carryOut = dialog.getByRole("button", { name: /^Cancel 2\d jobs$/ });
  await carryOut.waitFor();
  assert.equal(await carryOut.isDisabled(), true, "more than 20 jobs are canceled without the number");
  const n = (await carryOut.textContent()).match(/\d+/)[0];
  await dialog.getByLabel(/Type \d+ to confirm/).fill(n);
  await carryOut.click();
  await v.page.getByText(/jobs canceled|canceled, 1 refused/).waitFor();
  const alive = new Set((await cluster.call("GET", "/queue")).queued.map((j) => j.id));
  for (const id of chosen) assert.equal(alive.has(id), false, `job ${id} was selected and waits`);
  for (const id of [...ids.filter((x) => !chosen.includes(x)), late]) assert.equal(alive.has(id), true, `job ${id} was not selected and is gone`);
  await v.close();
});

test("the focus does not go over to another job when rows leave the view", async () => {
  const v = await visit(chrome, cluster, "/queue?show=waiting&sort=id");
  for (const down of [7, 14, 20, 30, 60]) {
    await v.page.locator('[role="rowgroup"]').evaluate((e) => { e.scrollTop = 0; });
    await v.page.locator('[data-row="0"]').getByRole("checkbox").focus();
    await v.page.locator('[role="rowgroup"]').evaluate((e, rows) => { e.scrollTop = rows * 28; }, down);
    await until("other rows", async () => (await v.page.locator('[data-row="0"]').count()) === 0);
    assert.equal(await v.page.evaluate(() => document.activeElement === document.body), true, `after ${down} rows`);
    await v.page.keyboard.press("Space");
  }
  assert.equal(await v.page.locator(".line.chosen").count(), 0);
  await v.close();
});

test("a clock that is an hour off changes no time", async () => {
  for (const off of [3_600_000, -3_600_000]) {
    const v = await visit(chrome, cluster, "/queue?show=running", {
      script: `{ const D = Date, off = ${off}; globalThis.Date = class extends D { constructor(...a) { if (a.length) super(...a); else super(D.now() + off); } static now() { return D.now() + off; } }; }`,
    });
    assert.ok(Math.abs(await v.page.evaluate(() => Date.now()) - Date.now() - off) < 60_000, "the clock of the page is right");
    const ran = v.page.locator("[data-id]").first().getByRole("cell").nth(10);
    await until("seconds", async () => /^\d+ s$|^[1-9] min \d+ s$/.test((await ran.textContent()).trim()));
    await v.page.goto(cluster.url + "/ui/");
    await v.page.getByText("Live").waitFor();
    await v.page.getByText(/holds all/).first().waitFor();
    assert.doesNotMatch(await v.page.locator("section", { has: v.page.getByRole("heading", { name: "Running" }) }).textContent(), /5\d min|1 h 0|60 min/);
    await v.close();
  }
});

test("a long queue is read page by page, and again only where it is looked at", async () => {
  const n = 700, list = [];
  for (let i = 0; i < n; i += 50) list.push(...await Promise.all(Array.from({ length: 50 }, (_, k) => cluster.submit({ name: `long ${i + k}`, user: "long", gpu_count: 1 }))));
  list.sort((a, b) => Number(a) - Number(b));
  const v = await visit(chrome, cluster, "/queue?show=waiting&user=long&sort=id");
  const view = v.page.locator('[role="rowgroup"]'), asked = [];
  v.page.on("request", (r) => { if (r.url().includes("/queue?")) asked.push(new URL(r.url()).searchParams); });
  await v.page.getByText("700 jobs").waitFor();
  await v.page.locator(`[data-id="${list[0]}"]`).waitFor();
  await view.evaluate((e) => { e.scrollTop = 250 * 28; });
  await v.page.locator(`[data-id="${list[255]}"]`).waitFor();
  await view.evaluate((e) => { e.scrollTop = e.scrollHeight; });
  await v.page.locator(`[data-id="${list[n - 1]}"]`).waitFor();
  assert.ok(asked.every((q) => q.get("after") || q.get("limit") === "200"), "a request reads again from the front what was read before");
  // A change far away: the pages that are not looked at are left alone, but for the first, which has the totals.
  asked.length = 0;
  await cluster.call("DELETE", "/queue/" + list[n - 2]);
  await until("the row is gone or struck out", async () => (await v.page.locator(`[data-id="${list[n - 2]}"]:not(.gone)`).count()) === 0);
  await v.page.getByText("699 jobs").waitFor();
  const pages = new Set(asked.map((q) => q.get("after") ?? ""));
  assert.ok(pages.size >= 2 && pages.size <= 3, `${pages.size} pages were read again`);
  // Rows in the middle are read again once they are looked at.
  await cluster.call("DELETE", "/queue/" + list[260]);
  await v.page.getByText("698 jobs").waitFor();
  await view.evaluate((e) => { e.scrollTop = 250 * 28; });
  await v.page.locator(`[data-id="${list[262]}"]`).waitFor();
  await until("the row in the middle is gone", async () => (await v.page.locator(`[data-id="${list[260]}"]:not(.gone)`).count()) === 0);
  await v.close();
});
