// Measures the page in Chromium against a cluster of this machine, and prints a table for test/bench/RESULTS.md. RUNS=3 is the number of runs of each figure.
import { readFileSync, readdirSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { browser, start, until } from "../test/cluster.mjs";

const runs = Number(process.env.RUNS ?? 3), jobs = 10_000;
const dist = join(import.meta.dirname, "../../httpapi/dashboard/dist");
const rows = [];

const sorted = (list) => [...list].sort((a, b) => a - b);
const quantile = (list, q) => sorted(list)[Math.min(list.length - 1, Math.floor(q * list.length))];

// row adds a figure: the median of its runs with the spread, and its limit.
function row(what, unit, limit, values) {
  const digits = (v) => (v >= 100 ? v.toFixed(0) : v.toFixed(1));
  const median = quantile(values, 0.5), s = sorted(values);
  rows.push(`| ${what} | ${limit} ${unit} | ${digits(median)} ${unit}${values.length > 1 ? ` (${digits(s[0])} to ${digits(s[s.length - 1])})` : ""} | ${median <= limit ? "met" : "missed"} |`);
  console.error(rows[rows.length - 1]);
}

async function repeat(f) {
  const out = [];
  for (let i = 0; i < runs; i++) out.push(await f());
  return out;
}

function sizes() {
  const kb = (names) => names.reduce((n, f) => n + gzipSync(readFileSync(join(dist, f)), { level: 9 }).length, 0) / 1024;
  const all = readdirSync(dist).filter((f) => /\.(js|css|html|svg)$/.test(f));
  const html = readFileSync(join(dist, "index.html"), "utf8");
  const first = all.filter((f) => f === "index.html" || html.includes(f) || f === "Overview.js");
  // What the first page imports by itself comes along.
  for (let grew = true; grew; ) {
    grew = false;
    for (const f of [...first]) {
      if (!f.endsWith(".js")) continue;
      for (const m of readFileSync(join(dist, f), "utf8").matchAll(/from\s*["']\.\/([\w.-]+\.js)["']/g)) if (!first.includes(m[1])) { first.push(m[1]); grew = true; }
    }
  }
  row("first load, compressed", "KiB", 60, [kb([...new Set(first)])]);
  row("all of the page, compressed", "KiB", 150, [kb(all)]);
}

// visit opens a page in a new context, with the times of its animation frames.
async function visit(chrome, url, path) {
  const context = await chrome.newContext({ viewport: { width: 1280, height: 800 } });
  const page = await context.newPage();
  page.setDefaultTimeout(60_000);
  await page.addInitScript(() => {
    const next = window.requestAnimationFrame.bind(window);
    window.frames_ = [];
    window.requestAnimationFrame = (f) => next((t) => {
      const began = performance.now();
      f(t);
      window.frames_.push(performance.now() - began);
    });
  });
  await page.goto(url + "/ui" + path);
  await page.getByText("Live").waitFor();
  return { page, context, cdp: await context.newCDPSession(page) };
}

async function heap(v) {
  await v.cdp.send("HeapProfiler.collectGarbage");
  return (await v.cdp.send("Runtime.getHeapUsage")).usedSize / 1e6;
}

async function firstPaint(chrome, url) {
  row("first paint on loopback, cold", "ms", 1000, await repeat(async () => {
    const v = await visit(chrome, url, "/");
    const at = await v.page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
    await v.context.close();
    return at;
  }));
}

async function longQueue(chrome, cluster) {
  const one = async (i) => cluster.submit({ name: `job ${i}`, user: "user" + (i % 10), gpu_count: 8, command: "true" });
  for (let i = 0; i < jobs; i += 50) await Promise.all(Array.from({ length: 50 }, (_, k) => one(i + k)));
  const frames = [], heaps = [], filters = [];
  row(`${jobs.toLocaleString("en")} waiting jobs: from Overview to rows of Queue`, "ms", 300, await repeat(async () => {
    const v = await visit(chrome, cluster.url, "/");
    await v.page.waitForFunction(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/jobs.js")));
    const took = await v.page.evaluate(async () => {
      const began = performance.now();
      document.querySelector('nav a[href$="/queue"]').click();
      while (!document.querySelector("[data-id]")) await new Promise((done) => requestAnimationFrame(done));
      return performance.now() - began;
    });
    // A wheel that is turned fast, frame by frame.
    frames.push(await v.page.evaluate(async () => {
      const view = document.querySelector('[role="rowgroup"]'), times = [];
      let last = performance.now();
      for (let i = 0; i < 300; i++) {
        view.scrollTop += 300;
        await new Promise((done) => requestAnimationFrame(done));
        const now = performance.now();
        times.push(now - last);
        last = now;
      }
      return times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)];
    }));
    heaps.push(await heap(v));
    filters.push(await v.page.evaluate(async () => {
      const field = document.querySelector('[aria-label="Text in name, id or user"]'), began = performance.now();
      field.value = "job 7";
      field.dispatchEvent(new Event("input", { bubbles: true }));
      await new Promise((done) => requestAnimationFrame(() => setTimeout(done)));
      return performance.now() - began;
    }));
    await v.context.close();
    return took;
  }));
  row("frame while scrolling them, 95th percentile", "ms", 33, frames);
  row("a key in the filter until the next frame", "ms", 50, filters);
  row("heap of a window with them", "MB", 60, heaps);
}

async function eventToScreen(chrome, cluster) {
  const v = await visit(chrome, cluster.url, "/queue?user=seen");
  const times = [];
  for (let i = 0; i < 10 * runs; i++) {
    const began = performance.now();
    const id = await cluster.submit({ name: "seen", user: "seen", gpu_count: 8 });
    await v.page.locator(`[data-id="${id}"]`).waitFor();
    times.push(performance.now() - began);
    await cluster.call("DELETE", "/queue/" + id);
    await v.page.locator(`[data-id="${id}"]`).waitFor({ state: "detached" });
  }
  row(`from the sending of a submission to its row, 95th percentile of ${times.length}`, "ms", 500, [quantile(times, 0.95)]);
  await v.context.close();
}

async function manyGPUs(chrome, url) {
  const nodes = Array.from({ length: 2000 }, (_, i) => ({
    node_id: `node${i}`, hostname: `node${i}`, state: "up", health: "healthy", gpu_count: 8, free_gpus: 1, labels: {}, gpu_type: "H100", running: [],
    gpus: Array.from({ length: 8 }, (_, g) => ({ gpu_id: g, uuid: `GPU-${i}-${g}`, gpu_type: "H100", state: g < 7 ? "allocated" : "free", health: "healthy", allocated_to: g < 7 ? String(i) : undefined, user: g < 7 ? "ann" : undefined, memory_total_mb: 81920 })),
  }));
  const v = await visit(chrome, url, "/");
  let n = 0;
  const real = await (await fetch(url + "/gpu/samples")).json();
  await v.page.route("**/nodes*", (r) => r.fulfill({ json: { nodes, layout: 1 } }));
  await v.page.route("**/gpu/samples*", (r) => {
    n++;
    const columns = Object.fromEntries(Object.entries(real).map(([k, x]) => [k, Array.isArray(x) ? Array.from({ length: k === "ages" || x.length === real.ages?.length && x.length !== 8 ? 2000 : 16_000 }, (_, i) => (i * 7 + (i % 10 === 0 ? n * 13 : 0)) % 100) : x]));
    return r.fulfill({ json: { ...columns, layout: 1 } });
  });
  await v.page.evaluate(() => document.querySelector('nav a[href$="/gpus"]').click());
  await v.page.getByText("16,000 GPUs on 2,000 nodes").waitFor();
  await until("ten repaints", () => n > 3);
  await v.page.evaluate(() => { window.frames_ = []; });
  await v.cdp.send("Performance.enable");
  const busy = async () => (await v.cdp.send("Performance.getMetrics")).metrics.find((m) => m.name === "TaskDuration").value;
  const [before, from] = [await busy(), n];
  await until("ten more repaints", () => n >= from + 4 + 2 * runs, 60_000);
  const whole = ((await busy()) - before) / (n - from) * 1000;
  const frames = (await v.page.evaluate(() => window.frames_)).filter((t) => t > 1);
  row("16,000 GPUs painted, of which a tenth has changed", "ms", 16, frames.length ? frames : [NaN]);
  console.error(`  each second, with reading and placing them: ${whole.toFixed(0)} ms of the processor`);
  await v.context.close();
}

async function largeLog(chrome, cluster) {
  const id = await cluster.submit({ name: "large", user: "ann", gpu_count: 1, command: 'yes "$(printf "%0125d" 7)" | head -c 100000000' }); // 126 bytes a line
  await until("it has ended", async () => (await cluster.call("GET", "/jobs/" + id)).state === "completed", 60_000);
  const heaps = [];
  row("100 MB of output, from the press to the last line", "ms", 1500, await repeat(async () => {
    const v = await visit(chrome, cluster.url, "/jobs/" + id);
    await v.page.getByRole("button", { name: "Whole output" }).waitFor();
    const took = await v.page.evaluate(async () => {
      const began = performance.now();
      [...document.querySelectorAll("button")].find((b) => b.textContent === "Whole output").click();
      while (!/100 MB$/.test(document.querySelector('section[aria-label="Output"] [role="status"]').textContent.trim())) await new Promise((done) => setTimeout(done, 5));
      return performance.now() - began;
    });
    await v.cdp.send("HeapProfiler.collectGarbage");
    const m = await v.cdp.send("Runtime.getHeapUsage");
    heaps.push((m.usedSize + (m.backingStorageSize ?? 0)) / 1e6);
    await v.context.close();
    return took;
  }));
  row("heap and buffers of that window", "MB", 130, heaps);
}

// openPages plays pages at one peer as far as the peer sees them: a stream of changes, and the reads of Overview after each.
async function openPages(cluster) {
  const { pid, url } = cluster.members().get("p1"), stop = new AbortController();
  const stat = () => {
    const f = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ")[1].split(" ");
    return { cpu: (Number(f[11]) + Number(f[12])) / 100, rss: Number(readFileSync(`/proc/${pid}/status`, "utf8").match(/VmRSS:\s+(\d+)/)[1]) / 1024 };
  };
  // Twice a second a job is submitted and canceled.
  const watch = async (ms) => {
    const a = stat(), began = performance.now();
    let next = 0;
    await until("the time is over", async () => {
      const now = performance.now() - began;
      if (now > next) {
        next += 500;
        await cluster.call("DELETE", "/queue/" + (await cluster.submit({ user: "ann", gpu_count: 8 })));
      }
      return now > ms;
    }, ms + 5000);
    const b = stat();
    return { core: (b.cpu - a.cpu) / ((performance.now() - began) / 1000) * 100, rss: b.rss };
  };
  const alone = await watch(10_000);
  const reads = ["/queue?brief=true&limit=8&count=true", "/nodes?fields=node_id,state", "/cluster/status", "/statistics"];
  const page = async () => {
    const tags = {};
    const r = await fetch(url + "/events?types=changed", { signal: stop.signal });
    let due = false, at = 0;
    for await (const _ of r.body) {
      if (due) continue;
      due = true;
      setTimeout(async () => {
        [due, at] = [false, Date.now()];
        for (const path of reads) {
          const a = await fetch(url + path, { headers: { "If-None-Match": tags[path] ?? "", "Accept-Encoding": "gzip" } }).catch(() => undefined);
          tags[path] = a?.headers.get("ETag") ?? "";
          await a?.arrayBuffer().catch(() => undefined);
        }
      }, Math.max(0, at + 500 - Date.now())); // as src/lib/resource.svelte.ts does
    }
  };
  for (let i = 0; i < 50; i++) page().catch(() => undefined);
  const open = await watch(15_000);
  stop.abort();
  row("50 open pages, two jobs a second: processor time at a peer more than without", "% of a core", 5, [Math.max(0, open.core - alone.core)]);
  row("50 open pages: memory at a peer more than without", "MB", 50, [Math.max(0, open.rss - alone.rss)]);
}

async function failover(chrome, cluster) {
  const v = await visit(chrome, cluster.url, "/");
  await v.page.waitForFunction(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/jobs.js")));
  await v.page.evaluate(() => { window.kept = true; });
  const began = performance.now();
  process.kill(cluster.members().get("p1").pid, "SIGKILL");
  await v.page.getByText(/Live.*p[23]/).waitFor();
  row("the peer that served the page is killed, until the page is live at another", "ms", 1000, [performance.now() - began]);
  if (!(await v.page.evaluate(() => window.kept))) throw new Error("the page was loaded again");
  await v.context.close();
}

const chrome = await browser();
const cluster = await start("--restart=false");
try {
  sizes();
  await firstPaint(chrome, cluster.url);
  await largeLog(chrome, cluster);
  await manyGPUs(chrome, cluster.url);
  await openPages(cluster);
  await longQueue(chrome, cluster);
  await eventToScreen(chrome, cluster);
  await failover(chrome, cluster);
} finally {
  await chrome.close();
  await cluster.stop();
}
console.log(`${cpus()[0].model}, ${cpus().length} cores, load average ${loadavg()[0].toFixed(1)}; ${runs} runs; median (lowest to highest)\n\n| figure | aim | measured | |\n| --- | ---: | ---: | --- |\n${rows.join("\n")}`);
