// Numbers and times as text. Durations are never negative: clocks differ.

// duration writes seconds in at most two units: "42 s", "2 min", "1 h 05 min", "3 d 4 h".
export function duration(seconds: number | undefined): string {
  if (seconds === undefined || !Number.isFinite(seconds)) return "–";
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const min = Math.floor(s / 60);
  if (min < 60) return min < 10 && s % 60 ? `${min} min ${s % 60} s` : `${min} min`;
  const h = Math.floor(min / 60);
  if (h < 48) return min % 60 ? `${h} h ${String(min % 60).padStart(2, "0")} min` : `${h} h`;
  const d = Math.floor(h / 24);
  return h % 24 ? `${d} d ${h % 24} h` : `${d} d`;
}

// relative writes an instant as a distance from another: "in 4 min", "2 h ago", "now".
export function relative(at: number, now: number): string {
  const seconds = (at - now) / 1000;
  if (Math.abs(seconds) < 1) return "now";
  return seconds > 0 ? `in ${duration(seconds)}` : `${duration(-seconds)} ago`;
}

// gigabytes writes an amount of memory.
export function gigabytes(gb: number): string {
  return gb >= 1024 ? `${(gb / 1024).toFixed(1)} TB` : `${gb >= 100 ? Math.round(gb) : Math.round(gb * 10) / 10} GB`;
}

// count writes a number with the noun that fits it.
export function count(n: number, one: string, more = one + "s"): string {
  return `${n.toLocaleString()} ${n === 1 ? one : more}`;
}

// isSet reports whether a time of the API is one: absent and zero times are none.
export function isSet(time: string | undefined): time is string {
  return time !== undefined && !time.startsWith("0001-");
}

// bytes writes a size.
export function bytes(n: number): string {
  if (n < 1000) return `${n} B`;
  const units = ["kB", "MB", "GB", "TB"];
  let v = n / 1000, i = 0;
  while (v >= 1000 && i < units.length - 1) { v /= 1000; i++; }
  return `${v < 10 ? v.toFixed(1) : Math.round(v)} ${units[i]}`;
}

// span writes seconds as the API takes them: "7d", "12h", "90m", "45s".
export function span(seconds: number): string {
  for (const [unit, length] of [["d", 86_400], ["h", 3600], ["m", 60]] as const) {
    if (seconds > 0 && seconds % length === 0) return `${seconds / length}${unit}`;
  }
  return `${seconds}s`;
}
