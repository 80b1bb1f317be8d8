// The order of a table that is looked at: while it is frozen, rows keep their places, whatever comes and goes.
export class Order {
  ids: string[] = [];
  changed = 0; // rows that would move, come or go

  // take takes the newest order. While frozen only the count of what has changed is kept.
  take(newest: string[], frozen: boolean): void {
    if (!frozen) {
      this.ids = newest;
      this.changed = 0;
      return;
    }
    const here = new Map(this.ids.map((id, i) => [id, i]));
    let changed = 0, there = 0, last = -1;
    for (const id of newest) {
      const at = here.get(id);
      if (at === undefined) changed++;
      else {
        there++;
        if (at < last) changed++;
        last = Math.max(last, at);
      }
    }
    this.changed = changed + (this.ids.length - there);
  }
}

// between returns the ids from one place to another, in either direction.
export function between(ids: string[], from: number, to: number): string[] {
  return ids.slice(Math.max(0, Math.min(from, to)), Math.max(from, to) + 1);
}
