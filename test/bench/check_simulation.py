#!/usr/bin/env python3
"""Check the log of `berth simulate --log LOG` against its trace, knowing nothing of Berth's code.

    check_simulation.py TRACE LOG NODES GPUS_PER_NODE [--min-run 30m] [--budget 2] ... (see --help)

What a log without a fault proves:
- no node holds more than it has, and there are no more nodes than were said;
- every attempt is the whole gang, on as many nodes as the trace says, and stays where it is;
- work is conserved: the attempts of a job add up to exactly the run time that the trace gives it, less
  the restart cost of each attempt after the first, as far as that was served;
- nothing starts before it was submitted or beside itself, and everything ends;
- nobody is suspended before min_run, or preempted by a higher class before preempt_min_run (and, once stopped,
  preempt_cooldown); and the n-th stop of a job comes only if n is within its budget, or as soon as it has run
  for budget_every times as often as it is over it.

Prints what it counted, or the first fault with its line, and ends with exit code 1 then.
"""
import argparse
import csv
import sys

SLACK = 0.002  # seconds: the log has milliseconds


def seconds(text):
    """seconds reads 90, 90s, 30m or 4h."""
    unit = {"s": 1, "m": 60, "h": 3600}.get(text[-1:])
    return float(text[:-1]) * unit if unit else float(text)


def arguments():
    p = argparse.ArgumentParser(description="Check a log of berth simulate. Times are such as 90s, 30m or 4h; defaults are berth's own.")
    p.add_argument("trace")
    p.add_argument("log")
    p.add_argument("nodes", type=int)
    p.add_argument("gpus_per_node", type=int)
    p.add_argument("--restart-cost", type=seconds, default="60s")
    p.add_argument("--min-run", type=seconds, default="30m")
    p.add_argument("--budget", type=int, default=2)
    p.add_argument("--budget-every", type=seconds, default="4h")
    p.add_argument("--preempt-min-run", type=seconds, default="5m")
    p.add_argument("--preempt-cooldown", type=seconds, default="1h")
    p.add_argument("--whole-nodes", action="store_true", help="as of berth simulate")
    return p.parse_args()


class Job:
    def __init__(self, row, first):
        self.gpus, self.takes = int(row["gpus"]), float(row["duration_s"])
        self.nodes = int(row.get("nodes") or 0)
        self.submit = float(row["submit_s"]) - first
        self.submitted = self.ended = False
        self.start, self.place = None, None  # of the attempt that runs
        self.attempts = self.stops = 0
        self.ran = self.worked = 0.0  # in attempts that are over, with restarts and without


class Check:
    def __init__(self, a):
        self.a = a
        with open(a.trace, newline="", encoding="utf-8-sig") as f:
            rows = list(csv.DictReader(f))
        first = min(float(r["submit_s"]) for r in rows)
        self.jobs = {r["job_id"]: Job(r, first) for r in rows}
        self.used = {}
        self.now = 0.0

    def line(self, line):
        """line takes one line of the log, and returns what is wrong with it."""
        if len(line) < 4:
            return "not time, event, job and GPUs"
        at, what, name, gpus, places = float(line[0]), line[1], line[2], int(line[3]), line[4:]
        if at < self.now - SLACK:
            return "time goes back"
        self.now = at
        j = self.jobs.get(name)
        if j is None or gpus != j.gpus:
            return "not a job of the trace, or of another size there"
        if what == "submit":
            if j.submitted or abs(at - j.submit) > SLACK:
                return f"submitted again, or at another time than the trace says ({j.submit:.3f} s after the first)"
            j.submitted = True
            return None
        place = sorted((p.rsplit(":", 1)[0], int(p.rsplit(":", 1)[1])) for p in places)
        if what == "start":
            return self.begins(j, place)
        if what not in ("end", "suspend", "preempt"):
            return "no such event"
        if j.start is None:
            return "it does not run"
        if place != j.place:
            return f"it ran on {j.place}, and leaves {place}"
        return self.leaves(j, what)

    def begins(self, j, place):
        if not j.submitted or j.start is not None or j.ended:
            return "it may not start now: not submitted yet, running or ended"
        if why := self.gang(j, place):
            return why
        for node, n in place:
            self.used[node] = self.used.get(node, 0) + n
            if self.used[node] > self.a.gpus_per_node:
                return f"{node} holds {self.used[node]} of {self.a.gpus_per_node} GPUs"
        if len(self.used) > self.a.nodes:
            return f"there are {self.a.nodes} nodes, and this is another"
        j.start, j.place = self.now, place
        j.attempts += 1
        return None

    def gang(self, j, place):
        """gang says what is wrong with where a job is to run."""
        sizes = [n for _, n in place]
        if sum(sizes) != j.gpus or min(sizes) < 1 or len({node for node, _ in place}) != len(place):
            return f"the gang is not whole: {sum(sizes)} of {j.gpus} GPUs"
        each = self.a.gpus_per_node
        nodes = j.nodes or (j.gpus // each if self.a.whole_nodes and j.gpus > each and j.gpus % each == 0 else 0)
        if nodes and (len(sizes) != nodes or max(sizes) != min(sizes)):
            return f"it has to be on {nodes} nodes evenly"
        return None

    def leaves(self, j, what):
        ran = self.now - j.start
        for node, n in j.place:
            self.used[node] -= n
        j.ran += ran
        j.worked += max(ran - (self.a.restart_cost if j.attempts > 1 else 0.0), 0.0)
        j.start = None
        slack = SLACK * j.attempts
        if j.worked > j.takes + slack:
            return f"it has worked for {j.worked:.3f} s, and takes {j.takes:.3f}"
        if what == "end":
            j.ended = True
            if abs(j.worked - j.takes) > slack:
                return f"it has worked for {j.worked:.3f} s, and takes {j.takes:.3f}"
            return None
        return self.stopped(j, what, ran)

    def stopped(self, j, what, ran):
        """stopped says whether a job was stopped for others too early or too often."""
        a = self.a
        least, name = a.min_run, "min_run"
        if what == "preempt":
            least, name = a.preempt_min_run, "preempt_min_run"
            if j.stops > 0 and a.preempt_cooldown > least:
                least, name = a.preempt_cooldown, "preempt_cooldown"
        if ran < least - SLACK:
            return f"stopped after {ran:.3f} s, before {name} ({least:.0f} s)"
        j.stops += 1
        due = (j.stops - a.budget) * a.budget_every
        if j.stops > a.budget and j.ran < due - SLACK * j.attempts:
            return f"stop number {j.stops}: the budget of {a.budget} is spent, and it has run for {j.ran:.3f} s, not {due:.0f}"
        return None


def main():
    check = Check(arguments())
    with open(check.a.log, newline="", encoding="utf-8") as f:
        for line in csv.reader(f):
            if why := check.line(line):
                sys.exit(f"{','.join(line)}: {why}")
    jobs = check.jobs.values()
    ended = sum(j.ended for j in jobs)
    if ended != len(jobs):
        sys.exit(f"{ended} of {len(jobs)} jobs ended")
    print(f"{ended} jobs, {sum(j.attempts for j in jobs)} attempts, {sum(j.stops for j in jobs)} stopped for others: nothing wrong")


main()
