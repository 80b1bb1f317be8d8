// text reads an answer that goes on: between two pieces at most so many ms may pass.
export async function text(r: Response, silence: number): Promise<string> {
  if (!r.body) return "";
  const reader = r.body.getReader(), decoder = new TextDecoder();
  let out = "", timer: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      const late = new Promise<never>((_, fail) => { timer = setTimeout(() => fail(new Error("the answer has been silent for " + silence / 1000 + " s")), silence); });
      const { value, done } = await Promise.race([reader.read(), late]);
      clearTimeout(timer);
      if (done) return out + decoder.decode();
      out += decoder.decode(value, { stream: true });
    }
  } catch (e) {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined);
    throw e;
  }
}
