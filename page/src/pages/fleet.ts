// GPUs and nodes. Pages of one file are loaded together: they share much, so that they are smaller than each by itself.
export { default as Gpus } from "./Gpus.svelte";
export { default as Node } from "./Node.svelte";
