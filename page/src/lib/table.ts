// Tables as files, made in the browser.

type Cell = string | number | undefined;

// cell writes one value (RFC 4180). Text that a spreadsheet would take for a formula begins with an apostrophe.
function cell(v: Cell): string {
  if (v === undefined) return "";
  if (typeof v === "number") return String(v);
  const text = /^[=+\-@\t\r]/.test(v) ? "'" + v : v;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

// csv returns a table as text with commas between the values.
export function csv(heads: string[], rows: Cell[][]): string {
  return [heads, ...rows].map((r) => r.map(cell).join(",") + "\r\n").join("");
}

// download hands a text to the browser as a file.
export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: "text/csv;charset=utf-8" })), a = document.createElement("a");
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}
