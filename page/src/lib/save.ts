// save has the browser write the answer to a path into a file, as it comes.
import { net, open } from "./net.svelte.ts";

export async function save(path: string, name: string): Promise<void> {
  const a = document.createElement("a");
  a.download = name;
  if ((net.base || location.origin) === location.origin) {
    a.href = path;
    document.body.append(a); // some browsers follow only links of the document
    a.click();
    a.remove();
    return;
  }
  // A browser asks other origins without the session of this page, and shows what comes.
  const r = await open(path, new AbortController().signal);
  a.href = URL.createObjectURL(await r.blob());
  a.click();
  setTimeout(() => URL.revokeObjectURL(a.href), 10_000);
}
