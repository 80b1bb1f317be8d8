// The pages of the README on a cluster that works: what a stranger sees within ten seconds. With PICTURES=FOLDER the pages are written there, in light and dark.
import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { browser, start, until, visit } from "./cluster.mjs";

let chrome, cluster;
const folder = process.env.PICTURES;

before(async () => {
  [chrome, cluster] = await Promise.all([browser(), start("--nodes", "4", "--gpus", "8")]);
  // For pictures some jobs compute: the utilization of a simulated GPU is that of its job's processes.
  const work = folder ? "timeout 150 yes >/dev/null; sleep 600" : "sleep 600";
  const submit = (job) => cluster.submit({ command: "sleep 600", time_limit: "2h", ...job });
  for (const job of [
    { name: "llama-8b-sft", command: work, user: "ann", project: "language", gpu_count: 8, time_limit: "6h" }, { name: "vit-large", command: work, user: "bob", project: "vision", gpu_count: 4, time_limit: "3h" },
    { name: "whisper-de", user: "chen", project: "speech", gpu_count: 2, time_limit: "90m" }, { name: "protein-fold", command: work, user: "dora", project: "bio", gpu_count: 8, time_limit: "4h" },
    { name: "diffusion-xl", user: "eli", project: "vision", gpu_count: 4, time_limit: "45m" }, { name: "eval-mmlu", user: "ann", project: "language", gpu_count: 1, time_limit: "30m" },
  ]) await submit(job);
  await until("six run", async () => (await cluster.call("GET", "/queue")).running.filter((j) => j.state === "running").length === 6);
  for (const job of [
    { name: "llama-70b", user: "ann", project: "language", gpu_count: 16, gpus_per_node: 8, time_limit: "12h", priority: 3 }, { name: "gpt-ablation", user: "fred", project: "language", gpu_count: 8, time_limit: "5h" },
    { name: "nerf-sweep", user: "bob", project: "vision", gpu_count: 6, time_limit: "2h" }, { name: "tts-finetune", user: "chen", project: "speech", gpu_count: 8, time_limit: "3h" },
  ]) await submit(job);
  // With a past of a minute the charts have something to show.
  if (folder) await until("minutes are recorded", async () => (await cluster.call("GET", "/cluster/history?series=gpus_total")).series.gpus_total.filter((v) => v !== null).length >= 1, 90_000);
});

after(async () => {
  await chrome?.close();
  await cluster?.stop();
});

const pages = {
  overview: { path: "/", shows: ["32", "llama-8b-sft", "protein-fold"] },
  queue: { path: "/queue", shows: ["llama-70b", "gpt-ablation", /too few free GPUs|jobs before it|GPUs kept|nodes kept/] },
  gpus: { path: "/gpus", shows: ["32 GPUs on 4 nodes"] },
  schedule: { path: "/plan", shows: ["llama-8b-sft", "llama-70b"] },
};

for (const [name, { path, shows }] of Object.entries(pages)) {
  for (const colorScheme of ["light", "dark"]) {
    test(`${name}, ${colorScheme}`, async () => {
      const v = await visit(chrome, cluster, path, { colorScheme, viewport: { width: 1120, height: 620 } });
      const main = v.page.locator("main");
      for (const text of shows) await main.getByText(text).filter({ visible: true }).first().waitFor();
      const back = await v.page.evaluate(() => getComputedStyle(document.body).backgroundColor.match(/\d+/g).slice(0, 3).reduce((a, b) => a + Number(b), 0));
      assert.equal(back > 380, colorScheme === "light", `the background is ${back}`);
      if (folder) {
        await main.getByText(/[1-9]\d? %/).first().waitFor({ timeout: 5000 }).catch(() => undefined);
        await v.page.evaluate(() => document.fonts.ready);
        await v.page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) });
      }
      await v.close();
    });
  }
}
