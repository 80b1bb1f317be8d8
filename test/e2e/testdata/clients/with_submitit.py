"""submitit's executor for Slurm: a job, an array, an exception, and the end of a job by scancel.

Argument: a folder for its files."""

import sys
import threading
import time

import submitit

LIMIT = 120  # seconds for each wait


def where(a, b):
    job = submitit.JobEnvironment()
    return a + b, job.job_id, job.num_tasks, job.global_rank


def square(n):
    return n * n


def fail():
    raise ValueError("broken on purpose")


def hang():
    threading.Event().wait()


def wait_for(job, *states):
    end = time.monotonic() + LIMIT
    while job.watcher.get_state(job.job_id, mode="force") not in states:
        assert time.monotonic() < end, f"job {job.job_id} is {job.state}, not {states}"


executor = submitit.AutoExecutor(folder=sys.argv[1] + "/%j", cluster="slurm")
executor.update_parameters(timeout_min=5, cpus_per_task=1, mem_gb=0.25, slurm_array_parallelism=2, slurm_job_name="from-submitit")

one = executor.submit(where, 1, 2)
array = executor.map_array(square, [2, 3, 4])
failed = executor.submit(fail)
hanging = executor.submit(hang)

assert one.result() == (3, one.job_id, 1, 0), one.result()
assert [job.result() for job in array] == [4, 9, 16]
number = array[0].job_id.split("_")[0]
assert [job.job_id for job in array] == [f"{number}_{n}" for n in range(3)], array
try:
    failed.result()
    raise AssertionError("the exception of the job is lost")
except submitit.core.utils.FailedJobError as e:
    assert "broken on purpose" in str(e), e

wait_for(hanging, "RUNNING")
hanging.cancel(check=False)
wait_for(hanging, "CANCELLED")
assert hanging.done(force_check=True)
wait_for(one, "COMPLETED")
wait_for(failed, "FAILED")
for job in array:
    wait_for(job, "COMPLETED")
print("submitit", submitit.__version__, "is done")
