"""dask-jobqueue's SLURMCluster: two workers, a computation, and one worker less.

Argument: a folder for its files."""

import os
import subprocess
import sys
import time

import dask_jobqueue
from dask.distributed import Client

LIMIT = 120  # seconds for each wait


def running():
    out = subprocess.run(["squeue", "--noheader", "--name=dask-worker", "--states=R", "--format=%i"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return set(out.split())


def wait_for(what, holds):
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, what


cluster = dask_jobqueue.SLURMCluster(
    cores=1, processes=1, memory="300MiB", walltime="00:10:00", interface="lo", local_directory=sys.argv[1], log_directory=sys.argv[1],
    worker_extra_args=["--no-dashboard"], scheduler_options={"dashboard": False},
)
with cluster, Client(cluster) as client:
    cluster.scale(jobs=2)
    client.wait_for_workers(2, timeout=LIMIT)
    assert sum(client.gather(client.map(lambda n: n * n, range(20)))) == 2470
    jobs = set(client.run(lambda: os.environ["SLURM_JOB_ID"]).values())
    assert len(jobs) == 2, jobs
    wait_for("squeue shows both workers", lambda: running() == jobs)
    cluster.scale(jobs=1)
    wait_for("one worker is left", lambda: len(client.scheduler_info()["workers"]) == 1)
    wait_for("one job is left", lambda: len(running()) == 1)
    assert client.submit(lambda: 7).result(timeout=LIMIT) == 7
wait_for("no job is left", lambda: not running())
print("dask-jobqueue", dask_jobqueue.__version__, "is done")
