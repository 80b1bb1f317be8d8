// Schedule, usage and reservations against a real cluster: what they show, what can be changed there, and for everyone.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster, running, waiting, reserved;
const hostile = '=1+1 "><img src=x onerror=document.title="owned"><script>document.title="owned"</script> مرحبا 😀';
const long = "<script>document.title='owned'</script> مرحبا 😀 " + "x".repeat(450);

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  const done = [await cluster.submit({ name: hostile, user: "ann", project: "vision", command: "true" }), await cluster.submit({ name: "breaks", user: "bob", command: "exit 3" })];
  await until("two have ended", async () => (await cluster.call("GET", "/history")).jobs.length === done.length);
  running = await cluster.submit({ name: hostile, user: "ann", project: "vision", gpu_count: 4, time_limit: "2h" });
  await cluster.submit({ name: "second", user: "bob", gpu_count: 3, time_limit: "1h" });
  await cluster.call("POST", "/gpu/allocate", { service_name: "web", user: "svc", gpu_count: 1, ttl: "8h" });
  waiting = await cluster.submit({ name: "waits", user: "ann", gpu_count: 3, time_limit: "1h" });
  await cluster.submit({ name: "kept back", user: "carl", gpu_count: 2, hold: true });
  reserved = (await cluster.call("POST", "/reservations", { user: "ann", gpu_count: 2, start: "+4h", duration: "1h", reason: long })).reservation.reservation_id;
  await cluster.call("POST", "/reservations", { maintenance: true, nodes: ["node2"], start: "+20h", duration: "2h", reason: "new driver" });
  await until("both run and the plan has a start", async () => {
    const p = await cluster.call("GET", "/queue/plan");
    return p.running.length >= 2 && p.waiting.some((w) => w.job_id === waiting && w.start);
  });
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

const region = (v, name) => v.page.getByRole("region", { name, exact: true });

test("the schedule shows what runs, what is planned and what is reserved, by node", async () => {
  const v = await visit(chrome, cluster, "/plan");
  const bars = region(v, "Timeline").locator("[data-bar]");
  await until("the bars", async () => (await bars.evaluateAll((l) => new Set(l.map((e) => e.dataset.bar)).size)) === 4);
  const kinds = await bars.evaluateAll((l) => Object.fromEntries(l.map((e) => [e.dataset.bar, e.classList[0]])));
  assert.deepEqual([kinds[running], kinds[waiting], kinds["r" + reserved]], ["running", "planned", "reservation"]);
  await region(v, "Timeline").getByText("1 waiting job has no expected start: once it is released").waitFor();
  await region(v, "Plan as a table").getByRole("row", { name: new RegExp(`^${waiting} waits ann 3`) }).getByText("◷ planned").waitFor();
  assert.equal(await v.page.locator("img").count(), 0);
  assert.match(await v.page.title(), /^Schedule · Berth$/);
  await v.page.getByRole("button", { name: "24 h" }).click();
  await until("the maintenance", async () => (await bars.evaluateAll((l) => l.map((e) => e.classList[0]))).includes("maintenance"));
  await v.close();
});

test("a bar is found with the keys, and leads to its job", async () => {
  const v = await visit(chrome, cluster, "/plan?user=ann&rows=jobs&range=1h");
  const line = v.page.getByRole("application", { name: /Timeline by jobs/ });
  await until("two bars", async () => (await line.locator("[data-bar]").count()) === 2);
  await line.focus();
  await v.page.keyboard.press("ArrowDown");
  await v.page.getByText(new RegExp(`^Job ${running} · .*4 GPUs · node\\d · runs since .* · ends `)).waitFor();
  await v.page.keyboard.press("ArrowDown");
  await v.page.getByText(new RegExp(`^Job ${waiting} · waits · ann · 3 GPUs · .*position 1 · starts .* \\(soonest .*latest `)).waitFor();
  await v.page.keyboard.press("-");
  await until("a wider range in the address", () => !v.page.url().includes("range=") && v.page.url().includes("user=ann"));
  await v.page.reload();
  await until("still those of ann: two jobs and a reservation", async () => (await line.locator("[data-bar]").count()) === 3);
  await line.locator(`[data-bar="${waiting}"]`).hover();
  await line.locator(`[data-bar="${waiting}"] .bar`).click();
  await v.page.getByRole("heading", { name: new RegExp(`Job ${waiting}`) }).waitFor();
  await v.close();
});

test("a schedule of thousands of nodes draws what is looked at, and says what is beyond it", async () => {
  const v = await visit(chrome, cluster, "/");
  const now = Date.now(), at = (h) => new Date(now + h * 3_600_000).toISOString(), range = (h) => ({ expected: at(h), soonest: at(h / 2), latest: at(h * 2) });
  const plan = {
    at: at(0), beyond: 9744, waiting: Array.from({ length: 256 }, (_, i) => ({ job_id: String(i + 1), user: "ann", gpu_count: 8, queue_position: i + 1, nodes: [`n${i}`], start: range(1 + i / 256), end: range(3) })),
    running: Array.from({ length: 3000 }, (_, i) => ({ job_id: String(i + 1000), user: "bob", name: "big", gpu_count: 8, nodes: [`n${i}`], started_at: at(-0.3), end: range(1) })),
  };
  await v.page.route("**/queue/plan", (r) => r.fulfill({ json: plan, headers: { "Access-Control-Allow-Origin": "*" } }));
  await v.page.keyboard.press("g");
  await v.page.keyboard.press("d");
  await v.page.getByText("9,744 more wait beyond the plan").waitFor();
  const line = v.page.getByRole("application", { name: /Timeline by nodes/ });
  await line.focus();
  await v.page.keyboard.press("End");
  await v.page.getByText(/^Job 3999 · big · bob · 8 GPUs · n2999/).waitFor();
  const drawn = await line.locator("[data-bar]").count();
  assert.ok(drawn > 5 && drawn < 120, `${drawn} bars are drawn`);
  assert.ok((await v.page.locator("*").count()) < 4000);
  await v.page.unroute("**/queue/plan");
  await v.close();
});

test("usage is summed up by user, day and name, and saved as it is shown", async () => {
  const v = await visit(chrome, cluster, "/usage?by=name");
  await region(v, "GPU-hours by name").getByText(hostile).waitFor();
  const [file] = await Promise.all([v.page.waitForEvent("download"), v.page.getByRole("button", { name: "Download CSV", exact: true }).click()]);
  const text = await readFile(await file.path(), "utf8");
  assert.match(text, /^name,gpu_hours,percent_of_use,/);
  assert.ok(text.includes(`"'${hostile.replaceAll('"', '""')}"`), text); // no formula
  await v.page.getByLabel("Group by").selectOption("user");
  await region(v, "GPU-hours by user").getByRole("button", { name: "ann" }).click();
  await until("one user only", async () => v.page.url().includes("user=ann") && (await region(v, "GPU-hours by user").getByRole("row").count()) === 2);
  const days = region(v, "GPU-hours over time");
  await days.getByText("As a table").click();
  await until("30 days", async () => (await days.getByRole("row").count()) === 31);
  const { total } = await cluster.call("GET", "/usage?user=ann");
  await until("the jobs of today", async () => (await days.getByRole("row").last().getByRole("cell").last().textContent()) === String(total.jobs));
  await days.getByRole("application").focus();
  await v.page.keyboard.press("ArrowLeft");
  await days.getByText(/GPU-hours, .* worked, .* held idle/).waitFor();
  await v.page.goBack();
  await region(v, "GPU-hours by user").getByRole("button", { name: "bob" }).waitFor();
  await v.close();
});

test("shares are set next to the use", async () => {
  const v = await visit(chrome, cluster, "/usage?part=shares");
  await v.page.getByRole("button", { name: "Set the share of user bob" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByLabel("Shares").fill("20000");
  await dialog.getByRole("button", { name: "Set", exact: true }).click();
  await dialog.locator(".field", { has: v.page.getByLabel("Shares") }).getByRole("alert").waitFor();
  await dialog.getByLabel("Shares").fill("300");
  await dialog.getByRole("button", { name: "Set", exact: true }).click();
  await v.page.getByText("user bob: 300 shares.").waitFor();
  await region(v, "Shares").getByRole("row", { name: /bob 300/ }).waitFor();
  assert.equal((await cluster.call("GET", "/shares")).shares.find((s) => s.user === "bob").shares, 300);
  await v.close();
});

test("quotas are set, changed in one value only, and removed", async () => {
  const v = await visit(chrome, cluster, "/usage");
  await v.page.getByRole("link", { name: "Quotas" }).click();
  const dialog = v.page.getByRole("dialog"), set = dialog.getByRole("button", { name: "Set", exact: true });
  await v.page.getByRole("button", { name: "Set a quota" }).click();
  await dialog.getByLabel("Name").fill("dora");
  await dialog.getByLabel("GPUs", { exact: true }).fill("many");
  await set.click();
  await dialog.locator(".field", { has: v.page.getByLabel("GPUs", { exact: true }) }).getByRole("alert").waitFor();
  await dialog.getByLabel("GPUs", { exact: true }).fill("6");
  await dialog.getByLabel("GPU-hours", { exact: true }).fill("50");
  await dialog.getByLabel("Period").fill("7d");
  await set.click();
  await v.page.getByText("The quota of user dora is set.").waitFor();
  await region(v, "Quotas").getByRole("row", { name: /user dora 0 \/ 6 .*0 \/ 50 per 7 d/ }).waitFor();
  await v.page.getByRole("button", { name: "Change the quota of user dora" }).click();
  await cluster.call("PUT", "/quotas/user/dora", { running: 9 });
  await dialog.getByLabel("GPUs", { exact: true }).fill("7");
  await set.click();
  const quota = async () => (await cluster.call("GET", "/quotas?all=true")).quotas.find((q) => q.name === "dora");
  await until("both changes hold", async () => { const q = await quota(); return q.gpus === 7 && q.running === 9 && q.period_seconds === 604_800; });
  await region(v, "Quotas").getByRole("row", { name: /user dora 0 \/ 7 / }).waitFor();
  await v.page.getByRole("button", { name: "Remove the limits of user dora" }).click();
  await dialog.getByText("GPU-hours 50").waitFor();
  await dialog.getByRole("button", { name: "Remove 3 limits" }).click();
  await until("no limit is left", async () => { const q = await quota(); return q?.gpus === undefined && q?.gpu_hours === undefined && q?.running === undefined; });
  await region(v, "Pools").getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Mode").selectOption("hybrid");
  await dialog.getByLabel("Part that is kept").fill("0.5");
  await set.click();
  await region(v, "Pools").getByText("hybrid", { exact: true }).waitFor();
  await cluster.call("PUT", "/orchestrator/allocation", { mode: "dynamic" });
  await v.close();
});

test("the history has filters, pages and links", async () => {
  const v = await visit(chrome, cluster, "/");
  await v.page.route("**/history?*", (r) => r.continue({ url: r.request().url().replace("limit=100", "limit=1") })); // pages of one
  await v.page.goto(cluster.url + "/ui/usage?part=history");
  const jobs = region(v, "Ended jobs"), rows = jobs.locator("tbody tr");
  await until("the newest", async () => (await rows.count()) === 1);
  const newest = await rows.first().textContent();
  await jobs.getByRole("button", { name: "Older" }).click();
  await until("an older one", async () => v.page.url().includes("before=") && (await rows.first().textContent()) !== newest);
  await v.page.goBack();
  await until("the newest again", async () => (await rows.first().textContent())?.slice(0, 12) === newest.slice(0, 12));
  await v.page.unroute("**/history?*");
  await v.page.getByLabel("State").selectOption("failed");
  await until("what failed", async () => (await rows.count()) === 1 && v.page.url().includes("state=failed"));
  await rows.first().getByText("exit code 3").waitFor();
  await rows.first().getByRole("link").click();
  await v.page.getByRole("heading", { name: /^Job \d+/ }).waitFor();
  await v.page.goto(cluster.url + "/ui/usage?part=history&user=unknown");
  await jobs.getByText("No ended job matches these filters.").waitFor();
  await v.close();
});

test("GPUs are reserved, with a refusal at the field that it is about, and given back", async () => {
  const v = await visit(chrome, cluster, "/reservations");
  const list = region(v, "Reservations and maintenances"), dialog = v.page.getByRole("dialog"), reserve = dialog.getByRole("button", { name: "Reserve" });
  const at = (label) => dialog.locator(".field", { has: v.page.getByLabel(label, { exact: true }) }).getByRole("alert");
  await list.getByText("<script>").waitFor();
  await v.page.getByRole("button", { name: "Reserve", exact: true }).click();
  await reserve.click();
  await at("Name").waitFor();
  await dialog.getByLabel("Name").fill("bob");
  await dialog.getByLabel("GPUs").fill("7");
  await dialog.getByLabel("Start", { exact: true }).fill("+30h");
  await reserve.click();
  await at("GPUs").getByText(/7 GPUs would be reserved at once/).waitFor();
  await dialog.getByLabel("GPUs").fill("2");
  await dialog.getByLabel("Start", { exact: true }).fill("2020-01-01 09:00");
  await reserve.click();
  await at("Start").or(at("Length")).getByText(/would begin|over already/).waitFor();
  await dialog.getByLabel("Start", { exact: true }).fill("soon");
  await reserve.click();
  await at("Start").waitFor();
  await dialog.getByLabel("Start", { exact: true }).fill("+30h");
  await dialog.getByLabel("Reason").fill("course");
  await reserve.click();
  await list.getByRole("row", { name: /user bob 2 .*course/ }).waitFor();
  const made = (await cluster.call("GET", "/reservations")).reservations.find((r) => r.user === "bob");
  assert.equal(Date.parse(made.end) - Date.parse(made.start), 4 * 3_600_000);
  await region(v, "Calendar").locator(`[data-bar="r${made.reservation_id}"].reservation`).waitFor();
  await v.page.getByRole("button", { name: `Cancel reservation ${made.reservation_id}` }).click();
  await dialog.getByText("for user bob").waitFor();
  await dialog.getByRole("button", { name: `Cancel reservation ${made.reservation_id}` }).click();
  await until("it is gone", async () => !(await cluster.call("GET", "/reservations")).reservations.some((r) => r.user === "bob"));
  await region(v, "Limits of reservations").getByRole("button", { name: "Change" }).click();
  await dialog.getByLabel("Longest").fill("7d");
  await dialog.getByRole("button", { name: "Set" }).click();
  await region(v, "Limits of reservations").getByText("7 d", { exact: true }).waitFor();
  const { limits } = await cluster.call("GET", "/reservations");
  assert.deepEqual([limits.longest, limits.ahead, limits.percent], [7 * 86_400, 90 * 86_400, 50]);
  await v.close();
});

test("services get GPUs, are renewed, and give them back", async () => {
  const v = await visit(chrome, cluster, "/reservations?part=services");
  const list = region(v, "Allocations of services"), dialog = v.page.getByRole("dialog"), web = list.getByRole("row", { name: /^web-/ });
  await web.getByText("of 8 h").waitFor();
  await web.getByRole("button", { name: /^Renew web-/ }).click();
  await dialog.getByLabel("Time, from now on").fill("2d");
  await dialog.getByRole("button", { name: "Renew" }).click();
  await web.getByText("of 2 d").waitFor();
  await v.page.getByRole("button", { name: "Allocate GPUs" }).click();
  await dialog.getByLabel("Service").fill("two words");
  await dialog.getByLabel("User").fill("svc");
  await dialog.getByRole("button", { name: "Allocate" }).click();
  await dialog.locator(".field", { has: v.page.getByLabel("Service") }).getByRole("alert").waitFor();
  await dialog.getByLabel("Service").fill("embed");
  await dialog.getByLabel("GPUs", { exact: true }).fill("4");
  await dialog.getByRole("button", { name: "Allocate" }).click();
  const embed = list.getByRole("row", { name: /^embed-/ });
  await embed.getByText("◷ waits").waitFor();
  await embed.getByRole("button", { name: /^Release embed-/ }).click();
  await dialog.getByText("It waits for").waitFor();
  await dialog.getByRole("button", { name: "Release" }).click();
  await embed.getByText("✓ released").waitFor();
  await v.close();
});

test("what the role does not allow is off, and says which it needs", async () => {
  const v = await visit(chrome, cluster, "/");
  await v.page.route("**/whoami", async (r) => {
    const answer = await r.fetch();
    await r.fulfill({ response: answer, json: { ...(await answer.json()), authentication: true, actor: "user:ann", role: "user" } });
  });
  const off = async (path, button, words) => {
    await v.page.goto(cluster.url + "/ui" + path);
    await v.page.getByText(words).first().waitFor();
    assert.equal(await v.page.getByRole("button", { name: button, exact: true }).first().isDisabled(), true, button);
  };
  await off("/usage?part=shares", "Set a share", "needs the role admin");
  await off("/usage?part=quotas", "Set a quota", "needs the role admin");
  await off("/reservations", `Cancel reservation ${reserved}`, "needs the role operator");
  assert.equal(await v.page.getByRole("button", { name: "Reserve", exact: true }).isDisabled(), false);
  const { allocations } = await cluster.call("GET", "/gpu/allocations?status=allocated");
  await off("/reservations?part=services", "Release " + allocations[0].id, "needs the role operator");
  await v.close();
});

const shown = {
  "/plan": "Plan as a table", "/plan?rows=jobs": "Timeline", "/usage": "GPU-hours by user", "/usage?part=shares": "Shares", "/usage?part=quotas": "Pools", "/usage?part=history": "Ended jobs",
  "/reservations": "Limits of reservations", "/reservations?part=services": "Allocations of services",
};

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the ${colorScheme}`, async () => {
    const v = await visit(chrome, cluster, "/", { colorScheme });
    for (const [path, name] of Object.entries(shown)) {
      await v.page.goto(cluster.url + "/ui" + path);
      await region(v, name).locator("tbody tr, dl, [data-bar], p b").first().waitFor();
      assert.deepEqual(await violations(v.page), [], path);
    }
    await v.page.goto(cluster.url + "/ui/reservations");
    await v.page.getByRole("button", { name: "Reserve", exact: true }).click();
    assert.deepEqual(await violations(v.page), [], "the form of reservations");
    await v.close();
  });
}

test("at 390 px nothing is cut off", async () => {
  const v = await visit(chrome, cluster, "/", { viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const [path, name] of Object.entries(shown)) {
    await v.page.goto(cluster.url + "/ui" + path);
    await region(v, name).locator("tbody tr, dl, [data-bar], p b").first().waitFor();
    const wide = await v.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${path} is ${wide} px wide`);
  }
  await v.close();
});
