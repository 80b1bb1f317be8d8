// What is planned and what was used. Pages of one file are loaded together: they share much, so that they are smaller than each by itself.
export { default as Schedule } from "./Schedule.svelte";
export { default as Usage } from "./Usage.svelte";
export { default as Reservations } from "./Reservations.svelte";
