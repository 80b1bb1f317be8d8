import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import type { Plugin } from "vite";
import { defineConfig } from "vitest/config";

const out = "../httpapi/dashboard/dist";
const peer = process.env.BERTH_PEER ?? "http://127.0.0.1:10000";

// hashes returns the SHA-256 of each file below a folder that is part of the page, by its path from there.
function hashes(root: string, part: (path: string) => boolean): Record<string, string> {
  const found = readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((e) => e.isFile())
    .map((e) => join(e.parentPath, e.name).slice(root.length + 1))
    .filter(part)
    .sort();
  return Object.fromEntries(found.map((p) => [p, createHash("sha256").update(readFileSync(join(root, p))).digest("hex")]));
}

// isInput reports whether what is built follows from a file. Types and tests leave no trace in it.
function isInput(path: string): boolean {
  return ((path.startsWith("src/") || path.startsWith("public/")) && !path.endsWith(".test.ts") && !path.endsWith(".d.ts")) ||
    ["index.html", "package-lock.json", "package.json", "svelte.config.js", "tsconfig.json", "vite.config.ts"].includes(path);
}

// record writes what was built from what, which a Go test compares with the folders.
function record(): Plugin {
  return {
    name: "record",
    apply: "build",
    closeBundle() {
      const built = { inputs: hashes(import.meta.dirname, isInput), outputs: hashes(join(import.meta.dirname, out), (p) => p !== "BUILD.json") };
      writeFileSync(join(import.meta.dirname, out, "BUILD.json"), JSON.stringify(built, null, 1) + "\n");
    },
  };
}

const names = { entryFileNames: "[name].js", chunkFileNames: "[name].js", assetFileNames: "[name][extname]" };

export default defineConfig(({ command }) => ({
  base: command === "serve" ? "/ui/" : "./",
  plugins: [svelte(), record()],
  build: {
    outDir: out, emptyOutDir: true, target: "es2022", assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: { polyfill: false }, reportCompressedSize: false, license: { fileName: "licenses.txt" },
    rolldownOptions: { output: names, onwarn(w) { if (w.code !== "PLUGIN_TIMINGS") throw new Error(w.message); } },
  },
  worker: { format: "es", rolldownOptions: { output: names } },
  // In development the page is at /ui/ of the development server, and everything else goes to a peer.
  server: { port: 12080, proxy: { "^/(?!ui/)": { target: peer, changeOrigin: true } } },
  test: { include: ["src/**/*.test.ts"] },
}));
