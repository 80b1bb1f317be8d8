// The output of jobs in a browser: progress bars, both streams, several ranks and tasks, wrapped, found, copied, saved.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { after, before, test } from "node:test";
import { browser, start, until, violations, visit } from "./cluster.mjs";

let chrome, cluster;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start("--peers", "1")]);
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

const ended = (id, state) => until(`job ${id} is ${state}`, async () => (await cluster.call("GET", "/jobs/" + id)).state === state);
const region = (v) => v.page.getByRole("region", { name: "Lines of the output" });

test("a progress bar shows its newest state, of thousands", async () => {
  const id = await cluster.submit({ name: "bar", command: String.raw`i=0; while [ $i -lt 3000 ]; do i=$((i+1)); printf '\rEpoch 1: ############################################################ %d/3000' $i >&2; done; sleep 600` });
  const v = await visit(chrome, cluster, "/jobs/" + id);
  await v.page.getByLabel("Stream").selectOption("stderr");
  await region(v).getByText(/3000\/3000$/).waitFor();
  assert.equal(await region(v).getByText("more characters").count(), 0);
  // Together with the other stream it stands below the lines.
  await v.page.getByLabel("Stream").selectOption("both");
  await v.page.getByRole("list", { name: "Lines that are not complete" }).getByText(/3000\/3000$/).waitFor();
  await cluster.call("DELETE", "/queue/" + id);
  await v.close();
});

test("a failed job opens with what it wrote to stderr", async () => {
  const id = await cluster.submit({ name: "fails", command: "echo fine; echo 'CUDA out of memory' >&2; exit 1" });
  await ended(id, "failed");
  const v = await visit(chrome, cluster, "/jobs/" + id);
  await region(v).getByText("CUDA out of memory").waitFor();
  assert.equal(await v.page.getByLabel("Stream").inputValue(), "stderr");
  await v.page.getByLabel("Stream").selectOption("both");
  await region(v).getByText("fine").waitFor();
  assert.deepEqual((await region(v).locator(".line").allTextContents()).map((l) => l.trim()), ["stderr │ CUDA out of memory", "stdout │ fine"]);
  await v.close();
});

test("matches are marked and counted, long lines wrapped, and all is copied and saved", async () => {
  const id = await cluster.submit({ name: "long", command: String.raw`printf '\033[33myellow\nstill\033[0m\n'; seq -f "step %.0f loss and more" 1 1200; head -c 3000 /dev/zero | tr '\0' x; echo; echo the end` });
  await ended(id, "completed");
  const v = await visit(chrome, cluster, "/jobs/" + id, { permissions: ["clipboard-read", "clipboard-write"] });
  const lines = region(v);
  await lines.getByText("the end", { exact: true }).waitFor();
  await v.page.getByLabel("Find in the output").fill("STEP 11");
  await v.page.getByLabel("Matches").getByText("of 111").waitFor();
  await v.page.keyboard.press("Enter");
  await v.page.getByLabel("Matches").getByText("1 of 111").waitFor();
  await lines.locator(".hit .found").getByText("step 11", { exact: true }).waitFor();
  await v.page.keyboard.press("Enter");
  await v.page.getByLabel("Matches").getByText("2 of 111").waitFor();
  await lines.locator(".hit").getByText("0 loss and more").waitFor(); // step 110
  const wide = () => lines.evaluate((e) => e.scrollWidth > e.clientWidth);
  await v.page.getByRole("button", { name: "Go to the end" }).click();
  await until("the long line is wider than the view", wide);
  await v.page.getByRole("button", { name: "Wrap" }).click();
  await until("it is wrapped", async () => !(await wide()));
  await lines.getByText("the end", { exact: true }).waitFor();
  const inView = (text) => lines.evaluate((e, text) => {
    const line = [...e.querySelectorAll(".line")].find((l) => l.textContent === text)?.getBoundingClientRect(), all = e.getBoundingClientRect();
    return line !== undefined && line.top >= all.top - 1 && line.bottom <= all.bottom + 1;
  }, text);
  await until("the end is in view", () => inView("the end"));
  await lines.evaluate((e) => { e.scrollTop = 0; });
  await until("the first line is in view", () => inView("yellow"));
  assert.match(await lines.getByText("still", { exact: true }).getAttribute("class"), /^c3( |$)/);
  await v.page.getByLabel("Find in the output").fill("step 600");
  await v.page.keyboard.press("Enter");
  await until("a match is in view", () => inView("step 600 loss and more"));
  assert.deepEqual(await violations(v.page), []);
  await lines.focus();
  for (const take of [() => v.page.getByRole("region", { name: "Output", exact: true }).getByRole("button", { name: "Copy", exact: true }).click(), async () => { await lines.focus(); await v.page.keyboard.press("Control+a"); await v.page.keyboard.press("Control+c"); }]) {
    await v.page.evaluate(() => navigator.clipboard.writeText(""));
    await take();
    await until("all lines are copied", async () => {
      const text = await v.page.evaluate(() => navigator.clipboard.readText());
      return text.startsWith("yellow\nstill\nstep 1 loss") && text.endsWith("x\nthe end\n") && text.split("\n").length === 1205;
    });
  }
  const saving = v.page.waitForEvent("download");
  await v.page.getByRole("button", { name: "Download" }).click();
  const file = await saving;
  assert.equal(file.suggestedFilename(), `job-${id}.stdout.txt`);
  assert.match(await readFile(await file.path(), "utf8"), /^\x1b\[33myellow\n[^]*the end\n$/);
  await v.page.getByRole("button", { name: "Wrap" }).click();
  await v.close();
});

test("tasks of an array are read together, with the time at which lines came", async () => {
  const id = await cluster.submit({ name: "tasks", array_size: 3, command: 'echo "begin $BERTH_TASK_ID$BERTH_ARRAY_TASK_ID"; while [ ! -e "$GO" ]; do sleep 0.1; done; echo late', env: { GO: "/nowhere" } });
  const v = await visit(chrome, cluster, "/jobs/" + id);
  for (const n of [0, 1, 2]) await region(v).getByText(`task ${n} │`).first().waitFor();
  await v.page.getByRole("button", { name: "Download 3 files" }).waitFor();
  await cluster.call("DELETE", "/queue/" + id);
  const talks = await cluster.submit({ name: "talks", command: "i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo line $i; sleep 0.1; done" });
  await v.page.goto(cluster.url + "/ui/jobs/" + talks);
  await v.page.getByRole("button", { name: "Times" }).click();
  await region(v).locator(".line .time").filter({ hasText: /\d\d:\d\d:\d\d/ }).first().waitFor();
  await cluster.call("DELETE", "/queue/" + talks);
  await v.page.getByRole("button", { name: "Times" }).click();
  await v.close();
});
