// The page while answers are slow or missing: it says nothing that is not known, and slow is not dead.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, start, until, visit } from "./cluster.mjs";

let chrome, cluster;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start("--peers", "1")]);
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

const region = (v, name) => v.page.getByRole("region", { name, exact: true });

// later holds back answers to a path until let go.
async function later(page, path) {
  let go, asked = 0;
  const gone = new Promise((done) => { go = done; });
  await page.route(path, async (route) => { asked++; await gone; await route.continue().catch(() => undefined); });
  return { go: () => go(), asked: () => asked };
}

test("an answer that takes long is slow, not dead, and is not asked for again", async () => {
  const id = await cluster.submit({ name: "slow", user: "ann" });
  const v = await visit(chrome, cluster, "/queue");
  const held = await later(v.page, (u) => u.pathname === "/jobs/" + id);
  await v.page.locator(`[data-id="${id}"] a`).click();
  await v.page.locator(".status.slow").getByText("Slow").waitFor();
  await v.page.getByText("p1 takes long to answer").waitFor();
  assert.equal(await v.page.getByText("no answer").count(), 0);
  assert.equal(held.asked(), 1);
  held.go();
  await v.page.getByRole("heading", { name: "slow" }).waitFor();
  await v.page.locator(".status.live:not(.slow)").waitFor();
  await v.close();
});

test("nothing is said of a queue that was not read, and an error stands alone", async () => {
  const v = await visit(chrome, cluster, "/usage");
  const held = await later(v.page, (u) => u.pathname === "/queue");
  await v.page.getByRole("link", { name: "Overview" }).click();
  await region(v, "GPUs").getByText("8", { exact: true }).first().waitFor();
  assert.equal(await v.page.getByText("Nothing waits").count(), 0);
  held.go();
  await region(v, "Queue").getByText("Nothing waits.").waitFor();
  await v.page.unroute((u) => u.pathname === "/queue").catch(() => undefined);
  await v.page.route((u) => u.pathname === "/history", (r) => r.fulfill({ status: 409, contentType: "application/problem+json", body: JSON.stringify({ status: 409, title: "no", detail: "this archive cannot be read", code: "archive" }) }));
  await v.page.goto(cluster.url + "/ui/queue?show=ended");
  await v.page.getByText("this archive cannot be read").waitFor();
  assert.equal(await v.page.getByText(/Reading the queue|No job has ended/).count(), 0);
  await v.close();
});

test("an old plan says how old it is", async () => {
  const v = await visit(chrome, cluster, "/usage");
  await v.page.route((u) => u.pathname === "/queue/plan", async (r) => {
    const answer = await r.fetch(), plan = await answer.json();
    await r.fulfill({ response: answer, json: { ...plan, at: new Date(Date.now() - 20 * 60_000).toISOString() } });
  });
  await v.page.goto(cluster.url + "/ui/plan");
  await v.page.getByText(/by a plan made 20 min( \d+ s)? ago/).waitFor();
  await v.close();
});

test("GPUs that were not measured are not said to work", async () => {
  await until("a job runs", async () => (await cluster.call("GET", "/queue")).running.some((j) => j.state === "running"));
  const v = await visit(chrome, cluster, "/usage");
  await v.page.route((u) => u.pathname === "/gpu/samples", async (r) => {
    const answer = await r.fetch(), s = await answer.json(), none = s.utilization_percent.map(() => null);
    await r.fulfill({ response: answer, json: { ...s, utilization_percent: none, idle_held_seconds: none } });
  });
  await v.page.getByRole("link", { name: "Overview" }).click();
  await region(v, "GPUs").getByText("1 held, no telemetry").waitFor();
  await region(v, "GPUs").getByText("0 working").waitFor();
  await region(v, "GPUs").getByText("No telemetry", { exact: true }).waitFor();
  await v.close();
});

test("a task that does not exist, and an address that is typed wrong, have an answer", async () => {
  const id = await cluster.submit({ name: "array", array_size: 2 });
  const v = await visit(chrome, cluster, `/jobs/${id}?task=9999`);
  await v.page.getByText("not_found").waitFor();
  assert.equal(await v.page.getByRole("heading", { name: "array" }).count(), 0);
  await v.page.getByRole("button", { name: "all tasks" }).click();
  await v.page.getByRole("heading", { name: "array" }).waitFor();
  await v.page.getByLabel("Search for jobs by id, name or user").fill(id + ".1");
  await v.page.keyboard.press("Enter");
  await v.page.getByRole("heading", { name: `Job ${id}, task 1` }).waitFor();
  for (const path of ["/jobs/%E0%A4%A", "/nodes/%ZZ"]) {
    await v.page.evaluate((to) => { history.pushState(null, "", to); dispatchEvent(new PopStateEvent("popstate")); }, "/ui" + path);
    await v.page.getByRole("alert").first().waitFor();
  }
  await cluster.call("DELETE", "/queue/" + id);
  await v.close();
});

test("a job tells what it ran, and why it failed", async () => {
  const script = "#!/bin/sh\n#BERTH --gpus 1\necho one\necho 'cannot open data.bin' >&2\nexit 137\n";
  const id = await cluster.submit({ name: "script", command: undefined, script, env: { LEVEL: "7" }, checkpoint_dir: "/tmp", project: "vision", user: "ann" });
  await until("it has failed", async () => (await cluster.call("GET", "/jobs/" + id)).state === "failed");
  const v = await visit(chrome, cluster, "/jobs/" + id);
  await region(v, "What it runs").getByText("echo one").waitFor();
  await region(v, "What it runs").getByText("Environment: 1 variable").click();
  await region(v, "What it runs").getByText("LEVEL=7").waitFor();
  await region(v, "Why it failed").getByText(/exit code 137: killed \(SIGKILL\)/).waitFor();
  await region(v, "Why it failed").getByText("cannot open data.bin").waitFor();
  await region(v, "Facts").getByText("none was announced").waitFor();
  await region(v, "GPUs of the job").getByText("the last 15 minutes").waitFor();
  await region(v, "Facts").getByRole("link", { name: "vision" }).click();
  await v.page.getByRole("button", { name: "Remove the filter project vision" }).waitFor();
  await v.close();
});

test("the menu closes by a click elsewhere and by Escape, and single keys can be switched off", async () => {
  const v = await visit(chrome, cluster, "/");
  const menu = v.page.locator("details.menu");
  await menu.locator("summary").click();
  await region(v, "GPUs").getByText("1 working").click();
  await until("it is closed", async () => (await menu.getAttribute("open")) === null);
  await menu.locator("summary").click();
  await v.page.keyboard.press("Escape");
  await until("it is closed again", async () => (await menu.getAttribute("open")) === null);
  await v.page.keyboard.press("?");
  await v.page.getByRole("dialog").getByText("select nothing").waitFor();
  await v.page.keyboard.press("Escape");
  await menu.locator("summary").click();
  await menu.getByLabel("Keys without Ctrl or Alt").uncheck();
  await v.page.keyboard.press("Escape");
  await v.page.keyboard.press("?");
  await v.page.keyboard.press("g");
  await v.page.keyboard.press("u");
  await v.page.getByRole("link", { name: "Queue", exact: true }).first().click();
  await v.page.getByRole("table", { name: "Jobs" }).waitFor();
  assert.equal(await v.page.getByRole("dialog").count(), 0);
  await v.close();
});

test("with forced colours the bar of GPUs keeps its patterns", async () => {
  const v = await visit(chrome, cluster, "/", { forcedColors: "active" });
  const bar = region(v, "GPUs").locator(".part").first();
  await bar.waitFor();
  assert.equal(await bar.evaluate((e) => getComputedStyle(e).forcedColorAdjust), "none");
  await v.close();
});
