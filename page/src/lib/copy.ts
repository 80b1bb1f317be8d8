// copy puts text on the clipboard. Over plain HTTP on other hosts than this one a browser has none for pages: then what is selected is copied.
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement("textarea");
    area.value = text;
    area.readOnly = true;
    area.className = "hidden";
    (document.querySelector("dialog[open]") ?? document.body).append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
}
