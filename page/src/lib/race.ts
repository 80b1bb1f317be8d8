// race asks one after the other: the next one when one has failed or has not begun to answer within its limit, while those before go on. The first that
// begins to answer is the one that counts; the others are ended. An error that final holds for ends all.
export async function race<T>(asks: ((begun: () => void, signal: AbortSignal) => Promise<T>)[], limit: (i: number) => number, final: (e: unknown, i: number) => boolean): Promise<T> {
  return new Promise<T>((done, fail) => {
    const stops: AbortController[] = [];
    let next = 0, open = 0, over = false, chosen = -1, timer: ReturnType<typeof setTimeout> | undefined;
    const end = (but = -1): void => {
      clearTimeout(timer);
      stops.forEach((s, i) => { if (i !== but) s.abort(); });
    };
    const start = (): void => {
      clearTimeout(timer);
      const i = next++, stop = (stops[i] = new AbortController());
      open++;
      if (next < asks.length) timer = setTimeout(start, limit(i));
      const begun = (): void => {
        if (over || (chosen >= 0 && chosen !== i)) return;
        chosen = i;
        end(i);
      };
      asks[i]!(begun, stop.signal).then(
        (v) => {
          if (over || (chosen >= 0 && chosen !== i)) return;
          over = true;
          end(i);
          done(v);
        },
        (e: unknown) => {
          open--;
          if (over || (chosen >= 0 && chosen !== i)) return;
          chosen = -1; // it broke in the middle
          if (final(e, i) || (open === 0 && next >= asks.length)) {
            over = true;
            end();
            fail(e as Error);
          } else if (next < asks.length) start();
        },
      );
    };
    start();
  });
}
