#!/usr/bin/env python3
"""Check the log of `berth simulate --log LOG` against its trace, knowing nothing of Berth's code.

    check_simulation.py TRACE LOG NODES GPUS_PER_NODE [RESTART_SECONDS]

No node holds more than it has; every attempt is a whole gang; a job runs for exactly as long as the trace says,
plus the restart cost of each attempt after the first as far as it was served; nothing starts before it was
submitted, and everything ends. Prints what it counted, or the first fault, with exit code 1.
"""
import csv
import sys


def fail(line, why):
    sys.exit(f"{line}: {why}")


def main():
    trace, log, nodes, per_node = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    restart = float(sys.argv[5]) if len(sys.argv) > 5 else 60.0
    jobs = {row["job_id"]: row for row in csv.DictReader(open(trace))}
    used, begun, work, attempts, submitted, ended = {}, {}, {}, {}, {}, set()
    suspended = 0
    now = 0.0
    for line in csv.reader(open(log)):
        at, what, job, gpus, places = float(line[0]), line[1], line[2], int(line[3]), line[4:]
        if at < now - 1e-3:
            fail(line, "time goes back")
        now = at
        if job not in jobs or gpus != int(jobs[job]["gpus"]):
            fail(line, "not a job of the trace")
        if what == "submit":
            if abs(at - float(jobs[job]["submit_s"])) > 0.01:
                fail(line, "submitted at another time than the trace says")
            submitted[job] = at
            continue
        parts = [(p.rsplit(":", 1)[0], int(p.rsplit(":", 1)[1])) for p in places]
        if sum(n for _, n in parts) != gpus:
            fail(line, "the gang is not whole")
        if what == "start":
            if job not in submitted or job in begun or job in ended:
                fail(line, "may not start now")
            begun[job] = (at, parts)
            attempts[job] = attempts.get(job, 0) + 1
            for node, n in parts:
                used[node] = used.get(node, 0) + n
                if used[node] > per_node or len(used) > nodes:
                    fail(line, f"{node} holds {used[node]} of {per_node}")
            continue
        start, where = begun.pop(job)
        if sorted(where) != sorted(parts):
            fail(line, "moved while it ran")
        for node, n in parts:
            used[node] -= n
        cost = restart if attempts[job] > 1 else 0.0
        work[job] = work.get(job, 0.0) + max(at - start - cost, 0.0)
        if what == "suspend":
            suspended += 1
            continue
        ended.add(job)
        if abs(work[job] - float(jobs[job]["duration_s"])) > 0.05:
            fail(line, f"worked {work[job]:.3f} s, the trace says {jobs[job]['duration_s']}")
    if len(ended) != len(jobs):
        sys.exit(f"{len(ended)} of {len(jobs)} jobs ended")
    print(f"{len(ended)} jobs, {sum(attempts.values())} attempts, {suspended} suspended: nothing wrong")


main()
