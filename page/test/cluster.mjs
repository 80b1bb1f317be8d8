// A cluster of this machine for a test, and a browser for it.
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { chromium } from "playwright-core";

const program = join(import.meta.dirname, "../../bin/berth");
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

// until waits for a condition, and fails with what it last said.
export async function until(what, condition, limit = 30_000) {
  const end = Date.now() + limit;
  for (let last; ; ) {
    try {
      last = await condition();
      if (last) return last;
    } catch (e) {
      last = e;
    }
    if (Date.now() > end) throw new Error(`${what}: not within ${limit} ms (${last})`);
    await new Promise((done) => setTimeout(done, 20)); // before it asks again
  }
}

function freePort() {
  return new Promise((done) => {
    const s = createServer().listen(0, "127.0.0.1", () => {
      const { port } = s.address();
      s.close(() => done(port));
    });
  });
}

// start runs a cluster, with three peers and two nodes of four simulated GPUs.
export async function start(...flags) {
  const folder = await mkdtemp(join(tmpdir(), "berth-page-"));
  const process = spawn(program, ["dev", "--data", folder, "--http", `127.0.0.1:${await freePort()}`, "--gpus", "4", ...flags], { stdio: ["ignore", "pipe", "pipe"] });
  let out = "";
  process.stdout.on("data", (d) => { out += d; });
  process.stderr.on("data", (d) => { out += d; });
  let gone = false;
  const ended = new Promise((done) => process.on("exit", () => { gone = true; done(); }));
  const members = () => new Map([...out.matchAll(/^(\S+)\s+(server|agent).*?\s(\d+)\s+(\S+:\d+)$/gm)].map((m) => [m[1], { pid: Number(m[3]), url: "http://" + m[4] }]));
  await until("the cluster starts", async () => {
    if (gone) throw new Error(out);
    return out.includes("Ctrl-C ends the cluster");
  }, 60_000);
  const url = members().get("p1").url;
  const call = async (method, path, body, at = url) => {
    const r = await fetch(at + path, { method, body: body && JSON.stringify(body) });
    const text = await r.text();
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${text}`);
    return JSON.parse(text);
  };
  return {
    url, members, call,
    submit: async (job) => (await call("POST", "/queue/submit", { command: "sleep 600", gpu_count: 1, ...job })).job_id,
    stop: async () => {
      process.kill("SIGINT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

// startAsking runs a cluster that asks for tokens, and returns the token of an admin, too.
export async function startAsking() {
  const folder = await mkdtemp(join(tmpdir(), "berth-page-"));
  const port = await freePort(), url = `http://127.0.0.1:${port}`;
  const child = spawn(program, ["dev", "--auth", "--data", folder, "--http", `127.0.0.1:${port}`, "--nodes", "1"], { stdio: ["ignore", "pipe", "ignore"] });
  let out = "";
  child.stdout.on("data", (d) => { out += d; });
  const ended = new Promise((done) => child.on("exit", done));
  const admin = await until("the cluster starts", () => out.includes("Ctrl-C ends the cluster") && out.match(/BERTH_TOKEN=(berth_\S+)/)?.[1], 60_000);
  const call = async (method, path, body, token) => {
    const r = await fetch(url + path, { method, body: body && JSON.stringify(body), headers: { Authorization: "Bearer " + token } });
    if (!r.ok) throw new Error(`${method} ${path}: ${r.status} ${await r.text()}`);
    return r.json();
  };
  return {
    url, call, admin, program,
    members: () => new Map(JSON.parse(readFileSync(join(folder, "cluster.json"), "utf8")).map((m) => [m.name, { pid: m.pid, url: "http://" + m.address }])),
    stop: async () => {
      child.kill("SIGINT");
      await ended;
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export function browser() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

// visit opens a page of the cluster in a context of its own, after script has run in it. Errors of the page fail the test at close.
export async function visit(browser, cluster, path, { script, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, timezoneId: "Europe/Berlin", locale: "en-GB", reducedMotion: "reduce", ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  if (script) await page.addInitScript(script);
  const errors = [];
  page.on("pageerror", (e) => errors.push(e.message));
  page.on("console", (m) => { if (m.type() === "error" && !/Failed to load resource|net::ERR/.test(m.text())) errors.push(m.text()); });
  await page.goto(cluster.url + "/ui" + path);
  await page.locator(".status.live").waitFor();
  return {
    page,
    close: async () => {
      await context.close();
      if (errors.length) throw new Error("errors in the page: " + errors.join("; "));
    },
  };
}

// violations returns what axe finds against WCAG 2.2 AA and best practice.
export async function violations(page) {
  await page.evaluate(axe);
  const found = await page.evaluate(() => window.axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] }));
  if (found.passes.length < 15) throw new Error(`only ${found.passes.length} rules of axe had something to check`);
  return found.violations.map((v) => `${v.id}: ${v.nodes.map((n) => n.target.join(" ") + " " + n.failureSummary).slice(0, 3).join(" | ")}`);
}
