// The page goes on while peers fail.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { browser, start, until, visit } from "./cluster.mjs";

let chrome, cluster;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start("--restart=false")]);
  await cluster.submit({ name: "first", user: "ann", gpu_count: 4 });
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

test("seven windows are live at once", async () => {
  const v = await visit(chrome, cluster, "/queue");
  for (let i = 0; i < 6; i++) {
    const next = await v.page.context().newPage();
    await next.goto(cluster.url + "/ui/queue");
    await next.getByText("Live").waitFor();
    await next.locator("[data-id]").first().waitFor();
  }
  const id = await cluster.submit({ name: "seen by all", user: "ann" });
  for (const p of v.page.context().pages()) await p.locator(`[data-id="${id}"]`).waitFor();
  await v.close();
});

test("the page goes on at another peer when the one that served it is killed", async () => {
  const v = await visit(chrome, cluster, "/queue");
  await v.page.evaluate(() => { window.kept = true; });
  await v.page.getByLabel("Text in name, id or user").fill("fir");
  await until("one row", async () => (await v.page.locator("[data-id]").count()) === 1);
  const peers = await cluster.call("GET", "/cluster/peers");
  const talks = await cluster.submit({ name: "talks", user: "ann", command: 'i=0; while [ $i -lt 150 ]; do i=$((i+1)); echo "line $i"; sleep 0.05; done' });
  const log = await visit(chrome, cluster, "/jobs/" + talks), output = log.page.getByRole("region", { name: "Lines of the output" });
  await output.getByText(/^line \d\d$/).first().waitFor();
  await v.page.waitForFunction(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/jobs.js")));
  process.kill(cluster.members().get("p1").pid, "SIGKILL");
  await v.page.getByText(/Live.*p[23]/).waitFor();
  assert.equal(await v.page.evaluate(() => window.kept), true);
  assert.equal(await v.page.getByLabel("Text in name, id or user").inputValue(), "fir");
  // Output that is followed goes on, with each line once.
  await output.getByText("line 150", { exact: true }).waitFor({ timeout: 30_000 });
  await log.page.getByText("150 lines").waitFor();
  await log.close();
  // A page that was never opened before loads, and a change is carried out.
  const other = cluster.members().get("p2").url;
  await until("there is a leader", async () => (await cluster.call("GET", "/healthz", undefined, other)).leader !== (peers.leader === "p1" ? "p1" : ""));
  await v.page.locator("[data-id] a").first().click();
  await v.page.getByRole("button", { name: "Cancel" }).click();
  await v.page.getByRole("button", { name: "Cancel 1 job" }).click();
  await v.page.getByText("1 job canceled.").waitFor({ timeout: 30_000 });
  await v.close();
});

test("without any peer the page says so, and keeps what it has", async () => {
  const v = await visit(chrome, { url: cluster.members().get("p2").url }, "/");
  await v.page.getByRole("region", { name: "Peers" }).getByText("p3").waitFor();
  process.kill(cluster.members().get("p2").pid, "SIGKILL");
  process.kill(cluster.members().get("p3").pid, "SIGKILL");
  await v.page.getByText(/No peer has answered for/).waitFor();
  await v.page.getByText(/as of .* from p/).first().waitFor();
  await v.page.getByRole("region", { name: "GPUs", exact: true }).getByText("8", { exact: true }).first().waitFor();
  await v.close();
});
