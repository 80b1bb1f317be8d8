// The pages against a real cluster: what they show, what can be done there, and for everyone.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster, running, waiting;
const hostile = 'job "><img src=x onerror=document.title="owned"> مرحبا 😀';

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  const output = String.raw`printf '\033[31mred\033[0m\n\033]0;owned\007<script>document.title="owned"</script>\033[2J\n'; seq -f "line %.0f" 1 6000; sleep 600`;
  running = await cluster.submit({ name: hostile, user: "ann", project: "vision", gpu_count: 4, command: output });
  await cluster.submit({ name: "second", user: "bob", gpu_count: 4 });
  waiting = await cluster.submit({ name: "waits", user: "ann", gpu_count: 3, time_limit: "1h" });
  await until("both run", async () => (await cluster.call("GET", "/queue")).running.filter((j) => j.state === "running").length === 2);
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

test("a stranger sees how many GPUs there are, what waits, what is next, and the peers", async () => {
  const v = await visit(chrome, cluster, "/");
  const at = (name) => v.page.getByRole("region", { name, exact: true });
  await at("GPUs").getByText("8", { exact: true }).first().waitFor();
  await at("Queue").getByRole("link", { name: "1 wait" }).waitFor();
  await at("Queue").getByRole("link", { name: "2 run" }).waitFor();
  await at("Queue").getByText("Next:").waitFor();
  await at("Peers").getByText("leads").waitFor();
  await at("Running jobs").getByText(hostile).waitFor();
  await at("Queue").getByRole("link", { name: "1 wait" }).click();
  await v.page.getByRole("table", { name: "Jobs" }).getByText("waits", { exact: true }).waitFor();
  await v.close();
});

test("without a sign-in /ui/login leads to the overview, whatever code it has", async () => {
  const v = await visit(chrome, cluster, "/login?to=/login#code=berth_old");
  await until("the overview", () => v.page.url() === cluster.url + "/ui/");
  assert.equal(await v.page.getByRole("heading", { name: "Sign in" }).count(), 0);
  await v.page.locator("header summary").click();
  assert.equal(await v.page.getByRole("button", { name: "Sign out" }).count(), 0);
  await v.close();
});

test("filters are in the address, and survive Back and reload", async () => {
  const v = await visit(chrome, cluster, "/queue");
  const rows = v.page.locator("[data-id]");
  await until("all rows", async () => (await rows.count()) === 3);
  await v.page.getByLabel("User", { exact: true }).fill("bob");
  await v.page.keyboard.press("Enter");
  await until("one row", async () => (await rows.count()) === 1);
  assert.match(v.page.url(), /user=bob/);
  await rows.getByRole("link").click();
  await v.page.getByRole("heading", { name: /Job 2/ }).waitFor();
  await v.page.goBack();
  await until("one row after Back", async () => (await rows.count()) === 1);
  assert.equal(await v.page.getByLabel("User", { exact: true }).inputValue(), "bob");
  await v.page.reload();
  await until("one row after a reload", async () => (await rows.count()) === 1);
  await v.page.getByRole("button", { name: "Remove the filter user bob" }).click();
  await until("all rows again", async () => (await rows.count()) === 3);
  await v.close();
});

test("rows stay where they are under the pointer, and what was chosen is changed", async () => {
  const v = await visit(chrome, cluster, "/queue?show=waiting");
  const rows = v.page.locator("[data-id]"), ids = () => rows.evaluateAll((l) => l.map((e) => e.dataset.id));
  const first = await cluster.submit({ name: "low", user: "carl", gpu_count: 4, priority: 1 });
  await until("two rows", async () => (await rows.count()) === 2);
  await rows.first().hover();
  const before = await ids();
  const second = await cluster.submit({ name: "high", user: "dora", gpu_count: 1, priority: 4 });
  const third = await cluster.submit({ name: "more", user: "dora", gpu_count: 4, priority: 4 });
  await v.page.getByText(/changed since the order was fixed/).waitFor();
  assert.deepEqual((await ids()).slice(0, before.length), before);
  await v.page.getByRole("checkbox", { name: `Select job ${first}` }).check();
  await v.page.getByRole("checkbox", { name: `Select job ${waiting}` }).check();
  await v.page.getByRole("button", { name: "Hold" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByText("2 jobs of").waitFor();
  await dialog.getByText("carl").waitFor();
  await dialog.getByRole("button", { name: "Hold 2 jobs" }).click();
  await v.page.getByText("2 jobs held.").waitFor();
  const held = (await cluster.call("GET", "/queue")).queued.filter((j) => j.held).map((j) => j.id).sort();
  assert.deepEqual(held, [first, waiting].sort());
  await v.page.keyboard.press("Escape");
  for (const id of [first, second, third]) await cluster.call("DELETE", "/queue/" + id).catch(() => undefined);
  await cluster.call("POST", `/queue/${waiting}/release`);
  await v.close();
});

test("the keys select and open rows, and ask before a change", async () => {
  const v = await visit(chrome, cluster, "/queue");
  await until("the rows", async () => (await v.page.locator("[data-id]").count()) === 3);
  await v.page.keyboard.press("?");
  await v.page.getByRole("dialog").getByText("select nothing").waitFor();
  await v.page.keyboard.press("Escape");
  await v.page.keyboard.press("j");
  await v.page.locator("[data-row='0'] a:focus").waitFor();
  await v.page.keyboard.press("x");
  await v.page.getByText("1 job selected").waitFor();
  await v.page.keyboard.press("c");
  await v.page.getByRole("dialog").getByText("What runs is stopped").waitFor();
  await v.page.keyboard.press("Escape");
  await v.page.keyboard.press("Enter");
  await v.page.getByRole("heading", { name: /^Job / }).waitFor();
  await v.page.keyboard.press("g");
  await v.page.keyboard.press("o");
  await v.page.getByRole("region", { name: "Peers" }).waitFor();
  await v.close();
});

test("a job says why it waits, and can be canceled", async () => {
  const id = await cluster.submit({ name: "to cancel", user: "ann", gpu_count: 4 });
  const v = await visit(chrome, cluster, "/jobs/" + id);
  const why = v.page.getByRole("region", { name: "Why it waits" });
  await why.getByText(/needs 4 GPUs/).first().waitFor();
  await why.getByText("What would let it start").waitFor();
  await v.page.getByRole("button", { name: "Cancel" }).click();
  await v.page.getByLabel("Note").fill("not needed");
  await v.page.getByRole("button", { name: "Cancel 1 job" }).click();
  await v.page.getByRole("region", { name: "Timeline" }).getByText("not needed").waitFor();
  assert.equal((await cluster.call("GET", "/jobs/" + id)).state, "canceled");
  await v.close();
});

test("output is text, whatever is in it, and follows", async () => {
  const v = await visit(chrome, cluster, "/jobs/" + running);
  const output = v.page.getByRole("region", { name: "Lines of the output" });
  await output.getByText("line 6000", { exact: true }).waitFor();
  await v.page.getByText("5,000 lines").waitFor();
  await v.page.getByRole("button", { name: "Earlier output" }).click();
  await v.page.getByText("6,002 lines").waitFor();
  assert.equal(await v.page.getByRole("button", { name: "Whole output" }).count(), 0);
  await v.page.reload();
  await output.getByText("line 6000", { exact: true }).waitFor();
  // What is ahead of the lines that are shown is found by its node.
  await v.page.getByLabel("Find in the output").fill("LINE 77");
  await v.page.keyboard.press("Enter");
  await output.locator(".hit").getByText("line 77", { exact: true }).waitFor();
  await v.page.getByRole("button", { name: "Whole output" }).click();
  await v.page.getByText("6,002 lines").waitFor();
  await v.page.getByLabel("Find in the output").fill("SCRIPT");
  await v.page.keyboard.press("Enter");
  await output.getByText('<script>document.title="owned"</script>').waitFor();
  assert.match(await output.getByText("red", { exact: true }).getAttribute("class"), /^c1( |$)/);
  await v.page.getByRole("heading", { name: hostile }).waitFor();
  assert.match(await v.page.title(), /^Job \d+ · Berth$/);
  assert.equal(await v.page.locator("img").count(), 0);
  await v.close();
});

test("the map shows each GPU, and a node is closed with a reason", async () => {
  const v = await visit(chrome, cluster, "/gpus");
  await v.page.getByText("8 GPUs on 2 nodes").waitFor();
  await v.page.getByRole("application").focus();
  await v.page.keyboard.press("ArrowRight");
  await v.page.getByText(/node1 GPU 0 · .* · working/).waitFor();
  await v.page.getByRole("link", { name: "node2" }).first().click();
  await v.page.getByRole("button", { name: "Cordon" }).click();
  await v.page.getByLabel("Reason").fill("new fan");
  await v.page.getByRole("dialog").getByRole("button", { name: "Cordon" }).click();
  await v.page.getByText("△ cordoned").waitFor();
  await v.page.getByText("new fan").first().waitFor();
  await v.page.getByRole("button", { name: "Open", exact: true }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "Open" }).click();
  await v.page.getByText("● up").waitFor();
  await v.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the ${colorScheme}`, async () => {
    const v = await visit(chrome, cluster, "/", { colorScheme });
    const shown = { "/": "Running jobs", "/queue": "", [`/jobs/${running}`]: "Lines of the output", [`/jobs/${waiting}`]: "Why it waits", "/gpus": "Map", "/nodes/node1": "Jobs here" };
    for (const [path, region] of Object.entries(shown)) {
      await v.page.goto(cluster.url + "/ui" + path);
      if (region) await v.page.getByRole("region", { name: region }).waitFor();
      else await v.page.locator("[data-id]").first().waitFor();
      assert.deepEqual(await violations(v.page), [], path);
    }
    await v.close();
  });
}

test("at 390 px nothing is cut off, and a job can be canceled", async () => {
  const id = await cluster.submit({ name: "phone", user: "ann", gpu_count: 4 });
  const v = await visit(chrome, cluster, "/queue", { viewport: { width: 390, height: 844 }, hasTouch: true });
  for (const path of ["/", "/queue", "/jobs/" + running, "/gpus", "/nodes/node1"]) {
    await v.page.goto(cluster.url + "/ui" + path);
    await v.page.locator("main :is(h1, h2)").first().waitFor({ state: "attached" });
    const wide = await v.page.evaluate(() => document.documentElement.scrollWidth);
    assert.ok(wide <= 390, `${path} is ${wide} px wide`);
  }
  await v.page.goto(cluster.url + "/ui/queue");
  await v.page.getByRole("checkbox", { name: `Select job ${id}` }).check();
  await v.page.getByRole("button", { name: "Cancel" }).click();
  await v.page.getByRole("button", { name: "Cancel 1 job" }).click();
  await v.page.getByText("1 job canceled.").waitFor();
  await v.close();
});

test("what does not exist has an answer", async () => {
  const v = await visit(chrome, cluster, "/jobs/99999");
  await v.page.getByText("not_found").waitFor();
  await v.page.goto(cluster.url + "/ui/nowhere");
  await v.page.getByText("There is no page /nowhere.").waitFor();
  await v.close();
});

test("a job is submitted without a terminal, and the form, JSON and command line say the same", async () => {
  const v = await visit(chrome, cluster, "/submit");
  await v.page.getByLabel("Command, for a shell").fill("sleep 5");
  await v.page.getByLabel("GPUs", { exact: true }).fill("1000");
  await v.page.getByRole("region", { name: "If submitted now" }).getByText("✕").waitFor();
  await v.page.getByLabel("GPUs", { exact: true }).fill("4");
  await v.page.getByLabel("Name", { exact: true }).fill("from the page");
  await v.page.getByRole("region", { name: "If submitted now" }).getByText(/needs 4 GPUs/).waitFor();
  await v.page.getByText("berth submit -J 'from the page' -g 4 -- sh -c 'sleep 5'").waitFor();
  const lost = v.page.getByText(/If its node is lost, the job waits for an operator/);
  await lost.waitFor();
  await v.page.getByLabel("Time limit", { exact: true }).fill("30m");
  await lost.waitFor({ state: "detached" });
  await v.page.getByLabel("Time limit", { exact: true }).fill("");
  await lost.waitFor();
  assert.deepEqual(await violations(v.page), []);
  await v.page.getByRole("button", { name: "JSON" }).click();
  const json = v.page.getByLabel("The body of POST /queue/submit");
  assert.deepEqual(JSON.parse(await json.inputValue()), { command: "sleep 5", gpu_count: 4, name: "from the page" });
  await json.fill('{"command": "sleep 6", "gpu_count": 4, "user": "eve", "time_limit": "1h"}');
  await v.page.getByRole("button", { name: "Submit", exact: true }).click();
  await v.page.getByRole("region", { name: "Why it waits" }).waitFor();
  const id = v.page.url().match(/\d+$/)[0];
  const job = await cluster.call("GET", "/jobs/" + id);
  assert.deepEqual([job.user, job.command, job.gpu_count, job.time_limit_seconds], ["eve", "sleep 6", 4, 3600]);
  await v.page.getByRole("link", { name: "Clone" }).click();
  await v.page.getByText(`as job ${id}`).waitFor();
  assert.equal(await v.page.getByLabel("Command, for a shell").inputValue(), "sleep 6");
  await cluster.call("DELETE", "/queue/" + id);
  await v.close();
});

test("each task of an array that waits is counted", async () => {
  const id = await cluster.submit({ name: "sweep", user: "ann", gpu_count: 1, array_size: 5 });
  const v = await visit(chrome, cluster, "/");
  const { statistics } = await cluster.call("GET", "/queue");
  assert.ok(statistics.queued >= 5);
  await v.page.getByRole("region", { name: "Queue", exact: true }).getByRole("link", { name: `${statistics.queued} wait` }).waitFor();
  await v.page.goto(cluster.url + "/ui/jobs/" + id);
  await v.page.getByRole("region", { name: "Tasks" }).getByRole("link", { name: "Task 4, queued" }).click();
  await v.page.getByRole("heading", { name: `Job ${id}, task 4` }).waitFor();
  await cluster.call("DELETE", "/queue/" + id);
  await v.close();
});

test("the leader is killed, and the page goes on", async () => {
  const { leader } = await cluster.call("GET", "/cluster/peers");
  const follower = ["p1", "p2", "p3"].find((p) => p !== leader);
  const v = await visit(chrome, { url: cluster.members().get(follower).url }, "/submit");
  await v.page.evaluate(() => { window.kept = true; });
  await v.page.getByLabel("Command, for a shell").fill("sleep 5");
  process.kill(cluster.members().get(leader).pid, "SIGKILL");
  await v.page.getByRole("button", { name: "Submit", exact: true }).click();
  await v.page.getByRole("heading", { name: /^Job \d+/ }).waitFor();
  assert.equal(await v.page.evaluate(() => window.kept), true);
  await v.page.getByRole("link", { name: "Overview" }).click();
  await v.page.getByRole("region", { name: "Peers" }).getByText("leads").waitFor();
  await v.close();
});
