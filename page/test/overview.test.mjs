// The last 24 hours on Overview and Usage, and jobs that are moved ahead of others.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster, ids;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  await cluster.submit({ name: "fills", user: "ann", gpu_count: 4 });
  await cluster.submit({ name: "fills, too", user: "bob", gpu_count: 4 });
  await until("both run", async () => (await cluster.call("GET", "/queue")).running.length === 2);
  ids = [];
  for (const name of ["first", "second", "third", "<script>last</script>"]) ids.push(await cluster.submit({ name, user: "ann", gpu_count: 2 }));
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

const region = (v, name) => v.page.getByRole("region", { name, exact: true });
const figure = (v, name) => v.page.getByRole("figure", { name });
const order = async () => (await cluster.call("GET", "/queue?brief=true&state=queued")).queued.map((j) => j.id);
const hour = 60;

// day answers a question about the history as a cluster of 32 GPUs would: without values from hour 10 to 12, with one peak and, if it was idle, without a start.
function day(url, idle) {
  const q = url.searchParams, first = Date.parse(q.get("since")), n = (Date.parse(q.get("until")) - first) / 60_000, skipped = 24 * hour - n;
  assert.ok(n >= 60 && n <= 24 * hour, `${n} minutes`);
  const gap = (i) => i >= 10 * hour && i < 12 * hour;
  const of = (f) => Array.from({ length: n }, (_, k) => (gap(k + skipped) ? null : f(k + skipped)));
  const held = (i) => (i === 20 * hour ? 32 : Math.round(20 + 8 * Math.sin(i / 120)));
  const all = {
    gpus_total: of(() => 32), gpus_allocated: of(held), gpus_busy: of((i) => held(i) - 4), gpus_idle_held: of(() => 3), gpus_free: of((i) => 32 - held(i) - (held(i) < 32 ? 1 : 0)), gpus_unhealthy: of((i) => (held(i) < 32 ? 1 : 0)),
    jobs_waiting: of((i) => (i === 13 * hour ? 1234 : Math.round(60 + 50 * Math.sin(i / 200)))), jobs_running: of((i) => Math.round(held(i) / 2)), utilization_percent: of((i) => 60 + 25 * Math.sin(i / 90)),
    wait_p50_seconds: of((i) => (idle ? null : 300 + 200 * Math.sin(i / 150))), wait_p95_seconds: of((i) => (idle || i < 3 * hour ? null : 3600 + 1800 * Math.sin(i / 150))),
  };
  const names = q.get("series")?.split(",") ?? Object.keys(all);
  return { start: q.get("since"), step: 60, series: Object.fromEntries(names.map((name) => [name, all[name]])) };
}

// recorded opens a page with that day.
async function recorded(path, options = {}) {
  const reads = [], v = await visit(chrome, cluster, "/events", options); // reads no history
  await v.page.route("**/cluster/history?*", (r) => {
    reads.push(r.request().url());
    return r.fulfill({ json: options.empty ? { start: "2026-01-01T00:00:00Z", step: 60, series: { jobs_waiting: [null, null] } } : day(new URL(r.request().url()), options.idle), headers: { "Access-Control-Allow-Origin": "*" } });
  });
  await v.page.goto(cluster.url + "/ui" + path);
  return { ...v, reads };
}

const pieces = (path) => path.getAttribute("d").then((d) => d.split("M").length - 1);

test("Overview draws the last 24 hours, and gaps stay gaps", async () => {
  const v = await recorded("/");
  const gpus = figure(v, /^GPUs of the last 24 hours\. Newest, .*: allocated \d+, working \d+, held idle 3, total 32; highest allocated 32 \(.* ago\), working 28 /);
  const queue = figure(v, /^Queue of the last 24 hours\. Newest, .*: waiting \d+, 95th percentile of the wait .* min; highest waiting 1,234 \(/);
  await gpus.waitFor();
  await queue.waitFor();
  for (const look of ["area held", "area work", "area idle", "total"]) assert.equal(await pieces(gpus.locator(`.plot path.${look.replace(" ", ".")}`)), 2, look);
  assert.match(await gpus.locator(".plot path.area.idle").evaluate((e) => getComputedStyle(e).fill), /^url/);
  assert.equal(await pieces(queue.locator(".plot path.second")), 2);
  assert.equal(await gpus.locator("tbody tr").count(), 24);
  assert.match(await queue.locator("tbody").innerText(), /none/);
  const minutes = v.reads.map((url) => new URL(url).searchParams.get("until"));
  // All is read once more when the page has lost its peer for a moment, as on a busy machine.
  assert.ok(minutes.length <= 2 * new Set(minutes).size, `a minute was read again and again: ${minutes}`);
  await v.close();
});

test("the keys and the pointer show the values of a time, by the clock that is chosen", async () => {
  const v = await recorded("/", { script: () => localStorage.setItem("berth-times", "utc") });
  const gpus = region(v, "GPUs").locator("figure"), plot = gpus.locator(".plot"), said = gpus.locator("p");
  await plot.waitFor();
  await said.getByText(/^Highest allocated 32 \(.*\d\d:\d\d UTC\)/).waitFor();
  await plot.focus();
  await v.page.keyboard.press("End");
  await said.getByText(/\d\d:\d\d UTC: allocated \d+, working/).waitFor();
  const end = await said.textContent();
  await v.page.keyboard.press("ArrowLeft");
  await until("five minutes earlier", async () => {
    const minutes = (t) => { const [, h, m] = t.match(/(\d\d):(\d\d) UTC/); return h * 60 + Number(m); };
    return (minutes(end) - minutes(await said.textContent()) + 1440) % 1440 === 5;
  });
  // The page may move under the pointer, such as when a bar above says that the peers elect a leader.
  const { width } = await plot.boundingBox();
  const points = (part, words) => until(words, async () => {
    await plot.hover({ position: { x: width * part, y: 40 } });
    return words.test(await said.textContent());
  });
  await points(11 / 24, /UTC: no values$/);
  await points(1 / 24, /UTC: allocated \d+/);
  await v.page.mouse.move(0, 0);
  await said.getByText(/^Highest/).waitFor();
  await v.close();
});

test("a history without values says so, in the same height", async () => {
  const [v, full] = [await recorded("/", { empty: true }), await recorded("/")];
  await region(v, "GPUs").getByText("The first minutes are being recorded.").waitFor();
  await region(v, "Queue").getByText("The first minutes are being recorded.").waitFor();
  await figure(full, /^Queue/).waitFor();
  const height = async (of) => (await region(of, "GPUs").boundingBox()).height;
  assert.ok(Math.abs((await height(v)) - (await height(full))) <= 2, `${await height(v)} and ${await height(full)}`);
  await v.close();
  await full.close();
});

test("Usage has the series of the cluster, in a range of the address, and as a file", async () => {
  const v = await recorded("/usage");
  await v.page.getByRole("link", { name: "Cluster", exact: true }).click();
  await figure(v, /^GPUs of the last 24 h\. .*free \d+, unhealthy 1; /).waitFor();
  await figure(v, /^Utilization .*utilization \d+\.\d %/).waitFor();
  await figure(v, /^Jobs .*waiting \d+, running \d+/).waitFor();
  await figure(v, /^Wait until start .*95th percentile .*median/).waitFor();
  await v.page.getByRole("button", { name: "6 h", exact: true }).click();
  await figure(v, /^GPUs of the last 6 h/).waitFor();
  await until("six hours were read", () => v.reads.some((r) => { const q = new URL(r).searchParams; return Date.parse(q.get("until")) - Date.parse(q.get("since")) === 6 * 3_600_000; }));
  await v.page.reload();
  await figure(v, /^GPUs of the last 6 h/).waitFor();
  assert.match(v.page.url(), /range=6h/);
  const [file] = await Promise.all([v.page.waitForEvent("download"), v.page.getByRole("button", { name: "Download CSV" }).click()]);
  const [head, ...rows] = (await readFile(await file.path(), "utf8")).trim().split("\r\n");
  assert.match(head, /^time,gpus_allocated,gpus_busy,.*,wait_p95_seconds$/);
  assert.equal(rows.length, 360);
  assert.match(rows[0], /^\d{4}-\d\d-\d\dT\d\d:\d\d:00\.000Z,\d+,/);
  await v.page.goBack();
  await figure(v, /^GPUs of the last 24 h/).waitFor();
  await v.close();
});

test("a chart without values says so", async () => {
  const v = await recorded("/usage?part=cluster", { idle: true });
  const wait = figure(v, /^Wait until start of the last 24 h\. no values in this time$/);
  await wait.getByText("No values in this time").waitFor();
  assert.equal(await wait.locator(".plot text").first().textContent(), "");
  await v.close();
});

test("an operator moves jobs ahead of another, in their order", async () => {
  const v = await visit(chrome, cluster, "/queue?show=waiting&sort=id&order=desc");
  assert.deepEqual(await order(), ids);
  for (const id of [ids[3], ids[2]]) await v.page.getByRole("checkbox", { name: `Select job ${id}` }).check();
  await v.page.getByRole("button", { name: "Move ahead" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByText(`Job ${ids[0]} “first” of ann is the first of the others in the queue.`).waitFor();
  assert.equal(await dialog.getByLabel("Ahead of job").inputValue(), ids[0]);
  await dialog.getByLabel("Ahead of job").fill("9999");
  await dialog.getByRole("button", { name: "Move 2 jobs" }).click();
  await dialog.getByRole("alert").getByText(/9999/).waitFor();
  await dialog.getByLabel("Ahead of job").fill(ids[0]);
  await dialog.getByRole("button", { name: "Move 2 jobs" }).click();
  await v.page.getByText("2 jobs moved.").waitFor();
  assert.deepEqual(await order(), [ids[2], ids[3], ids[0], ids[1]]);
  await v.page.goto(cluster.url + "/ui/jobs/" + ids[1]);
  await v.page.getByRole("button", { name: "Move ahead" }).click();
  await dialog.getByText(`Job ${ids[2]} “third” of ann is the first in the queue. A change of the priority ends the move.`).waitFor();
  assert.deepEqual(await violations(v.page), []);
  await dialog.getByRole("button", { name: "Move 1 job" }).click();
  await region(v, "Facts").getByText(`ahead of job ${ids[2]}`).waitFor();
  assert.deepEqual(await order(), [ids[1], ids[2], ids[3], ids[0]]);
  await v.close();
});

test("a user sees that moving needs the role operator", async () => {
  const v = await visit(chrome, cluster, "/");
  await v.page.route("**/whoami", async (r) => {
    const answer = await r.fetch();
    await r.fulfill({ response: answer, json: { ...(await answer.json()), authentication: true, actor: "user:ann", role: "user" } });
  });
  await v.page.goto(cluster.url + "/ui/queue?show=waiting");
  await v.page.getByRole("checkbox", { name: `Select job ${ids[0]}` }).check();
  await v.page.getByText("Move ahead needs the role operator").waitFor();
  assert.equal(await v.page.getByRole("button", { name: "Move ahead" }).isDisabled(), true);
  assert.equal(await v.page.getByRole("button", { name: "Hold" }).isDisabled(), false);
  await v.page.goto(cluster.url + "/ui/jobs/" + ids[0]);
  await v.page.getByText("Move ahead needs the role operator").waitFor();
  assert.equal(await v.page.getByRole("button", { name: "Move ahead" }).isDisabled(), true);
  await v.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the ${colorScheme}, and nothing is cut off at 390 px`, async () => {
    const v = await recorded("/", { colorScheme });
    for (const [path, name] of [["/", /^Queue/], ["/usage?part=cluster", /^Wait/]]) {
      await v.page.setViewportSize({ width: 1280, height: 800 });
      await v.page.goto(cluster.url + "/ui" + path);
      await figure(v, name).waitFor();
      assert.deepEqual(await violations(v.page), [], path);
      await v.page.setViewportSize({ width: 390, height: 844 });
      const wide = await v.page.evaluate(() => document.documentElement.scrollWidth);
      assert.ok(wide <= 390, `${path} is ${wide} px wide`);
    }
    await v.close();
  });
}

// The last of the tests, since the first minute takes a while.
test("the history of a real cluster shows", async () => {
  const v = await visit(chrome, cluster, "/");
  await until("a minute is recorded", async () => (await cluster.call("GET", "/cluster/history?series=jobs_waiting")).series.jobs_waiting.some((n) => n !== null));
  await until("it shows", async () => {
    await v.page.reload();
    await v.page.locator(".status.live").waitFor();
    await region(v, "GPUs").getByText("The first minutes").or(figure(v, /^GPUs/)).first().waitFor();
    return (await figure(v, /^GPUs of the last 24 hours\. Newest, .*: allocated \d, .*total 8/).count()) === 1;
  });
  await v.close();
});
