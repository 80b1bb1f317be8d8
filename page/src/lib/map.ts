// The map of GPUs: where each cell is, and how it is drawn. Colour never says anything alone: each state has a shape, too.
import { kindOf, level, sampleAt, type Kind, type Sample } from "./gpus.ts";
import type { GPU, Node, Samples } from "./types.ts";

export type By = "work" | "owner" | "memory" | "temperature" | "health";
export type Cell = { node: Node; gpu: GPU; kind: Kind; sample: Sample; x: number; y: number; dim: boolean };
export type Block = { title: string; label: boolean; x: number; y: number };
export type Layout = { cells: Cell[]; blocks: Block[]; height: number; size: number };

// cellsOf returns all GPUs in the order of the nodes, with what they do.
export function cellsOf(nodes: Node[], samples: Samples | undefined, matches: (n: Node, g: GPU) => boolean): Cell[] {
  let i = 0;
  return nodes.flatMap((node) => node.gpus.map((gpu) => {
    const sample = sampleAt(samples, i++);
    return { node, gpu, kind: kindOf(node, gpu, sample), sample, x: 0, y: 0, dim: !matches(node, gpu) };
  }));
}

// place puts the cells of each group's nodes side by side in lines of a width. Nodes have their names if cells are large enough.
export function place(cells: Cell[], group: (n: Node) => string, width: number, size: number): Layout {
  const step = size + 2, named = size >= 12, head = named ? 15 : 0;
  const groups = new Map<string, Map<string, Cell[]>>();
  for (const c of cells) {
    const g = group(c.node), nodes = groups.get(g) ?? groups.set(g, new Map()).get(g)!;
    const list = nodes.get(c.node.node_id) ?? nodes.set(c.node.node_id, []).get(c.node.node_id)!;
    list.push(c);
  }
  const blocks: Block[] = [];
  let y = 0;
  for (const [name, nodes] of [...groups].sort(([a], [b]) => a.localeCompare(b, undefined, { numeric: true }))) {
    if (name) {
      blocks.push({ title: name, label: true, x: 0, y: y + 13 });
      y += 20;
    }
    const across = Math.min(16, Math.max(1, ...[...nodes.values()].map((l) => l.length)));
    const blockWidth = Math.max(across * step, named ? 70 : 0) + 10, perLine = Math.max(1, Math.floor((width + 10) / blockWidth));
    let column = 0, tallest = 0;
    for (const [id, list] of nodes) {
      if (column === perLine) {
        column = 0;
        y += tallest;
        tallest = 0;
      }
      const x = column++ * blockWidth;
      if (named) blocks.push({ title: id, label: false, x, y: y + 10 });
      list.forEach((c, i) => {
        c.x = x + (i % across) * step;
        c.y = y + head + Math.floor(i / across) * step;
      });
      tallest = Math.max(tallest, head + Math.ceil(list.length / across) * step + (named ? 8 : 3));
    }
    y += tallest + 6;
  }
  return { cells, blocks, height: Math.max(20, y), size };
}

export type Palette = Record<"w1" | "w2" | "w3" | "w4" | "w5" | "idle" | "line" | "text" | "dim" | "panel", string>;

const owners = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c6bb1"];

// colourOf returns the colour of an owner, the same everywhere.
export function colourOf(owner: string): string {
  let h = 0;
  for (const c of owner) h = (h * 31 + c.codePointAt(0)!) >>> 0;
  return owners[h % owners.length]!;
}

function fill(c: Cell, by: By, p: Palette): string {
  const blue = (percent: number | null): string => p[`w${level(percent)}` as keyof Palette];
  if (by === "owner" && c.gpu.user) return colourOf(c.gpu.user);
  if (by === "memory") return c.sample.memory === null ? "" : blue((100 * c.sample.memory) / (c.gpu.memory_gb || 1));
  if (by === "temperature") return c.sample.temperature === null ? "" : blue(((c.sample.temperature - 25) * 100) / 70);
  if (by === "health") return c.kind === "unhealthy" || c.gpu.warning ? "" : p.w2;
  return c.kind === "work" ? blue(c.sample.utilization) : c.kind === "idle" ? p.idle : "";
}

// Surface is what a map is painted on, or one of its cells.
export type Surface = { canvas: CanvasImageSource; ctx: CanvasRenderingContext2D };

// Painter paints a map, and afterwards only the cells that look different. Each look of a cell is drawn once and copied.
export class Painter {
  private looks: string[] = [];
  private places: number[] = [];
  private blocks = "";
  private style = "";
  private readonly sprites = new Map<string, CanvasImageSource>();

  constructor(private readonly surface: (pixels: number) => Surface) {}

  // paint paints a layout on a surface of a width, both in CSS pixels, of which each has scale pixels across. fresh: the surface is empty.
  paint(ctx: CanvasRenderingContext2D, l: Layout, by: By, p: Palette, width: number, scale: number, fresh: boolean): void {
    const style = JSON.stringify([p, l.size, scale]), blocks = JSON.stringify([l.blocks, width, l.height]);
    if (style !== this.style) this.sprites.clear();
    const all = fresh || style !== this.style || blocks !== this.blocks || l.cells.length !== this.looks.length || l.cells.some((c, i) => c.x !== this.places[2 * i] || c.y !== this.places[2 * i + 1]);
    [this.style, this.blocks] = [style, blocks];
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    if (all) this.begin(ctx, l, p, width);
    const s = l.size;
    l.cells.forEach((c, i) => {
      const colour = fill(c, by, p), look = `${c.kind} ${colour} ${c.gpu.state === "foreign"} ${c.dim}`;
      if (look === this.looks[i]) return;
      this.looks[i] = look;
      if (!all) ctx.clearRect(c.x, c.y, s, s);
      ctx.drawImage(this.sprite(look, c, colour, s, scale, p), c.x, c.y, s, s);
    });
  }

  private begin(ctx: CanvasRenderingContext2D, l: Layout, p: Palette, width: number): void {
    this.looks = new Array<string>(l.cells.length).fill("");
    this.places = l.cells.flatMap((c) => [c.x, c.y]);
    ctx.clearRect(0, 0, width, l.height);
    ctx.font = "11px system-ui, sans-serif";
    for (const b of l.blocks) {
      ctx.fillStyle = b.label ? p.text : p.dim;
      ctx.fillText(b.title.length > 22 ? b.title.slice(0, 21) + "…" : b.title, b.x, b.y);
    }
  }

  private sprite(look: string, c: Cell, colour: string, s: number, scale: number, p: Palette): CanvasImageSource {
    const known = this.sprites.get(look);
    if (known) return known;
    const { canvas, ctx } = this.surface(Math.ceil(s * scale));
    ctx.setTransform(scale, 0, 0, scale, 0, 0);
    ctx.globalAlpha = c.dim ? 0.18 : 1;
    if (colour) {
      ctx.fillStyle = colour;
      ctx.fillRect(0, 0, s, s);
    } else {
      ctx.strokeStyle = p.dim;
      ctx.lineWidth = 1;
      ctx.strokeRect(0.5, 0.5, s - 1, s - 1);
    }
    if (c.kind !== "free" && c.kind !== "work") sign(ctx, { ...c, x: 0, y: 0 }, s, p);
    this.sprites.set(look, canvas);
    return canvas;
  }
}

// sign draws the shape of a state over a cell.
function sign(ctx: CanvasRenderingContext2D, c: Cell, s: number, p: Palette): void {
  const { x, y } = c;
  ctx.beginPath();
  switch (c.kind) {
    case "unhealthy":
      ctx.fillStyle = "#d55e00";
      ctx.fillRect(x, y, s, s);
      ctx.strokeStyle = "#fff";
      ctx.moveTo(x + 2, y + 2);
      ctx.lineTo(x + s - 2, y + s - 2);
      ctx.moveTo(x + s - 2, y + 2);
      ctx.lineTo(x + 2, y + s - 2);
      break;
    case "closed":
    case "idle":
      ctx.strokeStyle = c.kind === "closed" ? "#e69f00" : p.panel;
      for (let d = 3; d < 2 * s; d += 4) {
        const a = Math.max(0, d - s), b = Math.min(d, s);
        ctx.moveTo(x + a, y + (c.kind === "closed" ? s - d + a : d - a));
        ctx.lineTo(x + b, y + (c.kind === "closed" ? s - d + b : d - b));
      }
      break;
    case "unknown":
      ctx.strokeStyle = p.dim;
      for (let d = 3; d < s; d += 4) {
        ctx.moveTo(x + d, y);
        ctx.lineTo(x + d, y + s);
      }
      break;
    default:
      ctx.fillStyle = p.dim;
      for (let i = 2; i < s - 1; i += 4) for (let k = 2; k < s - 1; k += 4) ctx.fillRect(x + i, y + k, 1.5, 1.5);
  }
  ctx.lineWidth = c.kind === "unhealthy" ? 1.5 : 1;
  ctx.stroke();
  if (c.gpu.state === "foreign") {
    ctx.fillStyle = p.text;
    ctx.fillRect(x, y, s / 2, s / 2);
  }
}
