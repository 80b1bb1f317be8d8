// What users do with jobs. Pages of one file are loaded together: they share much, so that they are smaller than each by itself.
export { default as Queue } from "./Queue.svelte";
export { default as Job } from "./Job.svelte";
export { default as Submit } from "./Submit.svelte";
