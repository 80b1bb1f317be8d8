// What operators and admins need. Pages of one file are loaded together: they share much, so that they are smaller than each by itself.
export { default as Events } from "./Events.svelte";
export { default as People } from "./People.svelte";
export { default as Settings } from "./Settings.svelte";
export { default as System } from "./System.svelte";
