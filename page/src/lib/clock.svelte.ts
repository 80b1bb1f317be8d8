// The clock of the cluster as the page knows it, and how times are written. Durations go by the peers' clock, since the browser's may be wrong.
import { relative } from "./format.ts";

export type Mode = "relative" | "local" | "utc";

const key = "berth-times";
const modes: Mode[] = ["relative", "local", "utc"];

function stored(): Mode {
  try {
    const m = localStorage.getItem(key) as Mode;
    return modes.includes(m) ? m : "relative";
  } catch {
    return "relative";
  }
}

let skew = 0; // of the peers' clock, in ms
let seen = false;

export const clock = $state({ now: Date.now(), mode: stored() });

// hear takes the clock of an answer: when its request was sent, and the peer's time in it.
export function hear(sent: number, peerTime: string | null): void {
  const at = Number(peerTime);
  if (!peerTime || !Number.isFinite(at)) return;
  const now = Date.now(), measured = at - (sent + now) / 2;
  // The answer shows the peer's clock to half the round trip. A slow answer says little.
  if (!seen || now - sent < 500) {
    skew = seen ? skew + (measured - skew) / 4 : measured;
    if (Math.abs(measured - skew) > 5000) skew = measured;
    seen = true;
  }
  tick();
}

// serverNow returns the time by the peers' clock, in ms.
export function serverNow(): number {
  return Date.now() + skew;
}

function tick(): void {
  const now = Math.floor(serverNow() / 1000) * 1000;
  if (now !== clock.now) clock.now = now;
}

setInterval(tick, 500);

// setMode chooses how times are written, in all windows of this browser that open later.
export function setMode(mode: Mode): void {
  clock.mode = mode;
  try {
    localStorage.setItem(key, mode);
  } catch { /* a browser may keep nothing */ }
}

// formats are kept: to make one takes far longer than to use it, and rows have several times each, every second.
const formats = new Map<string, Intl.DateTimeFormat>();

function format(zone: string | undefined, locale: string, style: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = [zone, locale, style.dateStyle, style.timeStyle].join();
  let f = formats.get(key);
  if (!f) formats.set(key, (f = new Intl.DateTimeFormat(locale, { timeZone: zone, ...style })));
  return f;
}

// absolute writes an instant in the zone that is chosen. Of another day it has the date.
export function absolute(at: number, mode: Mode = clock.mode, seconds = true): string {
  const zone = mode === "utc" ? "UTC" : undefined;
  const day = (t: number): string => format(zone, "en-CA", { dateStyle: "short" }).format(t);
  const time = format(zone, "en-GB", { timeStyle: seconds ? "medium" : "short" }).format(at);
  const date = day(at) === day(clock.now) ? "" : day(at) + " ";
  return date + time + (mode === "utc" ? " UTC" : "");
}

// written writes an instant as chosen.
export function written(at: number): string {
  return clock.mode === "relative" ? relative(at, clock.now) : absolute(at);
}
