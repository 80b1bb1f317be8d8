// Settings, the system, labels and the end of a node, the estimate of a workload, and the history, against a real cluster.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster, first;
const hostile = 'job <script>document.title="owned"</script> مرحبا 😀';

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start()]);
  first = await cluster.submit({ name: hostile, user: "ann", command: "exit 3", gpu_count: 0 });
  await cluster.submit({ user: "bob", command: "exit 4 # nameless", gpu_count: 0 });
  await until("both have ended", async () => (await cluster.call("GET", "/jobs?state=failed")).jobs.length === 2);
  // An agent that is stopped is noticed after some seconds, which the tests before the one that needs that take.
  process.kill(cluster.members().get("node2").pid, "SIGSTOP");
});

after(async () => {
  await chrome?.close();
  process.kill(cluster.members().get("node2").pid, "SIGCONT");
  await cluster?.stop();
});

const valueOf = async (name) => (await cluster.call("GET", "/cluster/settings")).settings.find((s) => s.name === name).value;

test("several settings are changed after a look at the differences", async () => {
  const v = await visit(chrome, cluster, "/settings");
  await v.page.getByLabel("jobs.max_retries").fill("4");
  await v.page.getByLabel("scheduling.backfill").selectOption("skip");
  await v.page.getByLabel("cluster.name").fill("x");
  await v.page.getByRole("button", { name: "Undo the change of cluster.name" }).click();
  await v.page.getByText("2 changes").waitFor();
  await v.page.getByRole("button", { name: "Review and save" }).click();
  const dialog = v.page.getByRole("dialog");
  await dialog.getByText("− 0").waitFor();
  await dialog.getByText("+ 4").waitFor();
  await dialog.getByText("+ skip").waitFor();
  await dialog.getByRole("button", { name: "Save" }).click();
  await v.page.getByText("2 settings changed.").waitFor();
  assert.equal(await valueOf("jobs.max_retries"), "4");
  assert.equal(await valueOf("scheduling.backfill"), "skip");
  // An error shows at its field, and nothing is lost.
  await v.page.getByLabel("scheduling.half_life").fill("1s");
  await v.page.getByRole("button", { name: "Review and save" }).click();
  await dialog.getByRole("button", { name: "Save" }).click();
  const row = v.page.locator("tr", { hasText: "scheduling.half_life" });
  await row.getByRole("alert").getByText(/must be 1h to 366d/).waitFor();
  assert.equal(await v.page.getByRole("textbox", { name: "scheduling.half_life" }).inputValue(), "1s");
  await v.close();
});

test("what others have changed meanwhile is not overwritten unseen", async () => {
  const v = await visit(chrome, cluster, "/settings?q=depth");
  await v.page.getByLabel("scheduling.depth").fill("20");
  await cluster.call("PUT", "/cluster/settings", { settings: { "scheduling.depth": "30" } });
  const clash = v.page.getByRole("alert", { name: "Changed meanwhile" }).or(v.page.locator(".clash"));
  await clash.getByText("30").waitFor();
  assert.equal(await v.page.getByRole("button", { name: "Review and save" }).isDisabled(), true);
  assert.deepEqual(await violations(v.page), []);
  await clash.getByRole("button", { name: "Keep mine" }).click();
  // A page that has not heard of the change yet sends nothing either.
  await v.page.route("**/events?types=changed", (r) => r.abort());
  await v.page.getByRole("button", { name: "Review and save" }).click();
  await cluster.call("PUT", "/cluster/settings", { settings: { "scheduling.depth": "40" } });
  const save = v.page.getByRole("dialog").getByRole("button", { name: "Save" });
  if (await save.isVisible()) await save.click().catch(() => undefined);
  await clash.getByText("40").waitFor();
  assert.equal(await valueOf("scheduling.depth"), "40");
  await clash.getByRole("button", { name: "Take theirs" }).click();
  assert.equal(await v.page.getByLabel("scheduling.depth").inputValue(), "40");
  await v.close();
});

test("the scheduler is stopped and started", async () => {
  const v = await visit(chrome, cluster, "/system?tab=scheduler");
  const panel = v.page.getByRole("region", { name: "Scheduler" });
  await panel.getByRole("button", { name: "Stop" }).click();
  await v.page.getByRole("dialog").getByText("What runs goes on").waitFor();
  await v.page.getByRole("dialog").getByRole("button", { name: "Stop" }).click();
  await panel.getByText("is stopped: nothing is started").waitFor();
  await panel.getByRole("button", { name: "Start" }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "Start" }).click();
  await panel.getByText("▶\uFE0E runs").waitFor();
  await v.close();
});

test("the files of a snapshot are downloaded", async () => {
  const v = await visit(chrome, cluster, "/system?tab=scheduler", { acceptDownloads: true });
  const files = {};
  v.page.on("download", (d) => { files[d.suggestedFilename()] = d; });
  await v.page.getByRole("button", { name: "Download" }).click();
  await until("four files", () => Object.keys(files).length === 4);
  const queue = JSON.parse(await readFile(await files["job_queue.json"].path(), "utf8"));
  assert.equal(queue.berth.format, 1);
  await v.close();
});

test("another peer leads, a rotation begins, and a peer is not removed by chance", async () => {
  const v = await visit(chrome, cluster, "/system");
  const peers = v.page.getByRole("region", { name: "Peers" }), rows = peers.locator("tbody tr");
  await until("three peers", async () => (await rows.count()) === 3);
  const next = rows.filter({ has: v.page.getByRole("button", { name: "Let it lead" }) }).last();
  const name = await next.locator("b").innerText();
  await next.getByRole("button", { name: "Let it lead" }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "Let it lead" }).click();
  await peers.getByText(`${name} leads in term`).waitFor();
  await rows.first().getByRole("button", { name: "Remove" }).click();
  const remove = v.page.getByRole("dialog").getByRole("button", { name: "Remove" });
  assert.equal(await remove.isDisabled(), true);
  await v.page.getByRole("dialog").getByText(/2 votes are left then/).waitFor();
  await v.page.getByLabel("Type p1 to confirm").fill("p1");
  assert.equal(await remove.isDisabled(), false);
  await v.page.keyboard.press("Escape");
  await v.page.getByRole("link", { name: "Keys and certificates" }).click();
  const rotation = v.page.getByRole("region", { name: "Rotation" });
  await rotation.getByRole("button", { name: "Replace: Authority" }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "Begin" }).click();
  await rotation.getByText(/step 1 of/).waitFor();
  await rotation.getByText(/Missing: .*node node2/).waitFor();
  await rotation.getByRole("button", { name: "End the rotation" }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "End it" }).click();
  await rotation.getByText("Nothing is being replaced").waitFor();
  await v.page.getByRole("link", { name: "Join tokens" }).click();
  await v.page.getByLabel("Name of the machine").fill("gpu9");
  await v.page.getByRole("button", { name: "Create" }).click();
  assert.match(await v.page.getByRole("textbox", { name: "The join token" }).inputValue(), /^berth-join-/);
  await v.page.getByRole("region", { name: "Join tokens", exact: true }).getByText("gpu9").waitFor();
  await v.close();
});

test("an estimate goes into the submission, which Enter in its fields does not send", async () => {
  const v = await visit(chrome, cluster, "/submit");
  await v.page.getByLabel("Command, for a shell").fill("true");
  await v.page.getByText("How much does it need?").click();
  await v.page.getByLabel("Size of the model").fill("7B");
  await v.page.keyboard.press("Enter");
  await v.page.getByLabel("Tokens in all").fill("many");
  await v.page.getByRole("button", { name: "Estimate" }).click();
  await v.page.getByText("must be a number above 0").waitFor();
  await v.page.getByLabel("Tokens in all").fill("1e9");
  await v.page.getByRole("button", { name: "Estimate" }).click();
  await v.page.getByText("16 bytes a parameter").waitFor();
  assert.deepEqual(await violations(v.page), []);
  await v.page.getByRole("button", { name: "Use these" }).click();
  await until("GPUs of the estimate", async () => Number(await v.page.getByLabel("GPUs", { exact: true }).inputValue()) > 1);
  await v.page.getByRole("region", { name: "Recent submissions" }).getByText(hostile).waitFor();
  assert.equal((await cluster.call("GET", "/jobs")).jobs.length, 2);
  await v.page.getByRole("link", { name: `Use job ${first} as a template` }).click();
  await v.page.getByText("as job " + first).waitFor();
  await v.close();
});

test("what has ended comes from the history, and a job without a name shows its command", async () => {
  const v = await visit(chrome, cluster, "/queue?show=ended");
  const rows = v.page.locator("[data-id]");
  await rows.filter({ hasText: "exit 4 # nameless" }).waitFor();
  await rows.filter({ hasText: hostile }).waitFor();
  const asked = v.page.waitForRequest((r) => r.url().includes("/history?") && r.url().includes("user=bob"));
  await v.page.getByLabel("User", { exact: true }).fill("bob");
  await v.page.keyboard.press("Enter");
  await asked;
  await until("one row", async () => (await rows.count()) === 1);
  await v.page.getByLabel("Reason").selectOption("held");
  await v.page.getByText("No job matches these filters.").waitFor();
  await v.close();
});

test("a node gets labels; one that is silent is confirmed dead, and retired", async () => {
  const v = await visit(chrome, cluster, "/nodes/node1");
  await v.page.getByRole("button", { name: "Labels" }).click();
  await v.page.getByLabel(/^Labels/).fill("zone=a ssd");
  await v.page.getByText("Set: zone=a, ssd.").waitFor();
  await v.page.getByRole("button", { name: "Save" }).click();
  await v.page.getByRole("region", { name: "Facts" }).getByText("zone=a").waitFor();
  assert.equal(await v.page.getByRole("button", { name: "Confirm dead" }).isDisabled(), true);
  await v.page.goto(cluster.url + "/ui/system");
  const care = v.page.getByRole("region", { name: "Nodes that need care" });
  await care.getByRole("link", { name: "node2" }).click();
  await v.page.getByRole("button", { name: "Confirm dead" }).click();
  await v.page.getByLabel("Type node2 to confirm").fill("node2");
  await v.page.getByLabel("Reason, for the record").fill("burnt");
  await v.page.getByRole("dialog").getByRole("button", { name: "Confirm dead" }).click();
  await v.page.getByText("△ dead").waitFor();
  await v.page.getByRole("button", { name: "Retire" }).click();
  await v.page.getByRole("dialog").getByRole("button", { name: "Retire" }).click();
  await v.page.getByText("node2 is forgotten.").waitFor();
  assert.deepEqual((await cluster.call("GET", "/nodes")).nodes.map((n) => n.node_id), ["node1"]);
  await v.close();
});

for (const colorScheme of ["light", "dark"]) {
  test(`axe finds nothing in the ${colorScheme}`, async () => {
    const v = await visit(chrome, cluster, "/settings", { colorScheme });
    const shown = { "/settings": "Jobs", "/system": "Peers", "/system?tab=keys": "Certificates", "/system?tab=join": "Join tokens", "/system?tab=scheduler": "Snapshot" };
    for (const [path, region] of Object.entries(shown)) {
      await v.page.goto(cluster.url + "/ui" + path);
      await v.page.getByRole("region", { name: region, exact: true }).waitFor();
      assert.deepEqual(await violations(v.page), [], path);
    }
    await v.close();
  });
}
