package intake

import (
	"fmt"
	"strconv"
	"time"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func orderFields() []Field {
	first := number(Field{
		Name: "priority", Doc: "1 low, 2 normal, 3 high, 4 critical; 5 is normal, too, 6 to 8 are high, 9 and 10 critical; by default the cluster's, which is 2 at first",
		Flags: []Flag{{
			Name: "priority", Short: "p", Help: "low, normal, high, critical, or 1 to 10 (1 to 4 are these, 5 is normal, 6 to 8 high, 9 and 10 critical)",
		}},
	}, 1, model.MaxPriority, func(r *wire.Submit) **int64 { return &r.Priority })
	first.read, first.write, first.usual = readPriority, writePriority, usualPriority
	return []Field{
		first.setBy(FormText, setPriority),
		duration(Field{
			Name: "time_limit", Aliases: []string{"time_limit_seconds"}, Doc: "run time after which the job is stopped",
			Flags: []Flag{{Name: "time", Short: "t", Help: "run `time` after which the job is stopped: 90s, 2h30m, 1-00:00:00"}},
		}, times{
			most: model.MaxDuration, seconds: func(r *wire.Submit) **float64 { return &r.TimeLimitS },
			zero: "must be longer than 0, or be left out for no limit",
		}, func(r *wire.Submit) **wire.Duration { return &r.TimeLimit }, func(s *model.Spec) *time.Duration { return &s.TimeLimit }),
		duration(Field{
			Name: "estimated_duration", Aliases: []string{"estimated_duration_seconds"}, Doc: "the user's estimate of the run time",
			Flags: []Flag{{Name: "estimate", Help: "how long it will probably run, as a `time`"}},
		}, times{
			most: model.MaxDuration, seconds: func(r *wire.Submit) **float64 { return &r.EstimateS },
			zero: "must be longer than 0; leave it out if the run time is not known",
		}, func(r *wire.Submit) **wire.Duration { return &r.Estimate }, func(s *model.Spec) *time.Duration { return &s.Estimate }),
	}
}

func retryFields() []Field {
	retries := count(Field{
		Name: "max_retries", Doc: "further attempts after a failure of the job itself; by default the cluster's max_retries, which is 0 at first",
		Flags: []Flag{{Name: "max-retries", Help: "further attempts after a failure"}},
	}, 0, model.MaxRetries, 0, func(r *wire.Submit) **int64 { return &r.MaxRetries }, func(s *model.Spec) *uint32 { return &s.MaxRetries })
	retries.usual = usualRetries
	return []Field{
		retries,
		Field{
			Name: "retry_on", Doc: "exit codes that are retried, with 128 plus the number for a signal; any failure by default",
			Kind: "list of numbers", Bounds: "1 to 255", read: readRetryOn, write: writeRetryOn,
			Flags: []Flag{{Name: "retry-on", Help: "exit `codes` that are retried, such as 75,137 (default: any)"}},
		}.setBy(FormCodes, func(r *wire.Submit, v *FlagValue) error {
			r.RetryOn = v.Codes
			return nil
		}),
		onOff(Field{
			Name: "preemptible", Doc: "it may be suspended for others; by default the value in the quota of its user, its project or the cluster, " +
				"else true if it has a checkpoint_signal",
			Flags: []Flag{{
				Name: "preemptible", Help: "may be stopped and queued again for other jobs; --preemptible=false: must not, regardless of quotas",
			}},
		}, func(r *wire.Submit) **bool { return &r.Preemptible }, func(s *model.Spec) *bool { return &s.Preemptible }),
		onOff(Field{
			Name: "hold", Doc: "wait for a release before the first start",
			Flags: []Flag{{Name: "hold", Help: "wait for a release"}},
		}, func(r *wire.Submit) **bool { return &r.Hold }, func(s *model.Spec) *bool { return &s.Held }),
	}
}

func lossFields() []Field {
	lost := text(Field{
		Name: "on_lost", Doc: "what to do when a node is lost: requeue; hold, which keeps the job until an operator confirms that the node is dead; or fail. By default requeue with a time limit of at most 1h, else hold",
		Flags: []Flag{{Name: "on-lost", Help: "what to do when a node is lost: requeue, hold (wait for an operator) or fail (default: requeue with a time limit of at most 1h, else hold)"}},
	}, 0, func(r *wire.Submit) *string { return &r.OnLost }, nil)
	lost.read, lost.write = readOnLost, writeOnLost
	return []Field{
		lost,
		duration(Field{
			Name: "disconnect_grace", Doc: "how long a node may be out of contact; 5m by default",
			Flags: []Flag{{Name: "disconnect-grace", Help: "how long a node may be out of contact, as a `time`"}},
		}, times{least: model.MinDisconnectGrace, most: model.MaxDisconnectGrace, none: model.DefaultDisconnectGrace, always: true},
			func(r *wire.Submit) **wire.Duration { return &r.DisconnectGrace }, func(s *model.Spec) *time.Duration { return &s.DisconnectGrace }),
	}
}

func stopFields() []Field {
	return []Field{
		signalOf(Field{
			Name: "stop_signal", Doc: "TERM by default",
			Flags: []Flag{{Name: "stop-signal", Help: "`name` of the signal that asks the job to end (default: TERM)"}},
		}, false, func(r *wire.Submit) *string { return &r.StopSignal }, func(s *model.Spec) *string { return &s.StopSignal }),
		duration(Field{
			Name: "grace", Doc: "from the stop signal to the kill; 30s by default",
			Flags: []Flag{{Name: "grace", Help: "`time` from the stop signal to the kill (default: 30s)"}},
		}, times{most: model.MaxGrace, none: defaultGrace, always: true},
			func(r *wire.Submit) **wire.Duration { return &r.Grace }, func(s *model.Spec) *time.Duration { return &s.Grace }),
		signalOf(Field{
			Name: "checkpoint_signal", Doc: "sent before the stop signal",
			Flags: []Flag{{Name: "checkpoint-signal", Help: "`name` of a signal that is sent first"}},
		}, true, func(r *wire.Submit) *string { return &r.CheckpointSignal }, func(s *model.Spec) *string { return &s.CheckpointSignal }),
		duration(Field{
			Name: "checkpoint_grace", Doc: "from the checkpoint signal to the stop signal",
			Flags: []Flag{{Name: "checkpoint-grace", Help: "`time` from the checkpoint signal to the stop signal"}},
		}, times{most: model.MaxDisconnectGrace, always: true},
			func(r *wire.Submit) **wire.Duration { return &r.CheckpointGrace }, func(s *model.Spec) *time.Duration { return &s.CheckpointGrace }),
	}
}

func checkpointFields() []Field {
	every := duration(Field{
		Name: "checkpoint_interval", Aliases: []string{"checkpoint_interval_seconds"}, Doc: "the checkpoint signal is sent this often while the job runs",
		Flags: []Flag{{Name: "checkpoint-interval", Help: "send the checkpoint signal this often, as a `time`"}},
	}, times{
		least: model.MinCheckpointInterval, most: model.MaxDuration, off: true,
		seconds: func(r *wire.Submit) **float64 { return &r.CheckpointIntervalS },
	}, func(r *wire.Submit) **wire.Duration { return &r.CheckpointInterval },
		func(s *model.Spec) *time.Duration { return &s.CheckpointInterval })
	every.usual = usualCheckpoints
	warning := signalOf(Field{
		Name: "warn_signal", Doc: "sent ahead of the time limit",
		Flags: []Flag{{Name: "signal", Help: "`NAME@SECONDS`: a signal before the time limit, such as USR1@300"}},
	}, true, func(r *wire.Submit) *string { return &r.WarnSignal }, func(s *model.Spec) *string { return &s.WarnSignal })
	return []Field{
		every,
		text(Field{
			Name: "checkpoint_dir", Doc: "absolute path under which each attempt gets a folder of its own, best on storage that all nodes share",
			Flags: []Flag{{Name: "checkpoint-dir", Help: "`folder` in which each attempt gets its BERTH_CHECKPOINT_DIR"}},
		}, model.MaxPath, func(r *wire.Submit) *string { return &r.CheckpointDir }, func(s *model.Spec) *string { return &s.CheckpointDir }),
		warning.setBy(FormText, setWarning),
		{Name: "warn_before", Doc: "how far ahead of it; 1m by default", Kind: "time", Bounds: "less than time_limit", write: writeWarnBefore},
	}
}

func limitFields() []Field {
	mask := text(Field{
		Name: "umask", Doc: "mask of file modes in octal, such as 0027, with which the job begins; by default the node's: 077 under users' accounts, else 022",
		Flags: []Flag{{Name: "umask", Help: "`mask` of file modes in octal, such as 0027 (default: this shell's if that is not 022, else the node's)"}},
	}, 0, func(r *wire.Submit) *string { return &r.Umask }, func(s *model.Spec) *string { return &s.Umask })
	mask.Bounds, mask.read = "1 to 4 octal digits, at most 0777", readUmask
	return []Field{
		mask,
		duration(Field{
			Name: "idle_stop", Doc: "cancel the job once all its GPUs were at 0 % for this time; 0: never; by default the cluster's setting",
			Flags: []Flag{{Name: "idle-stop", Help: "cancel the job once all its GPUs were at 0 % for this `time`; 0: never"}},
		}, times{
			least: model.MinIdleStop, most: model.MaxDuration, off: true, always: true,
			cluster: func(d *model.Defaults) time.Duration { return d.IdleStop },
		}, func(r *wire.Submit) **wire.Duration { return &r.IdleStop }, func(s *model.Spec) *time.Duration { return &s.IdleStop }),
		duration(Field{
			Name: "attached", Doc: "cancel the job after this time without contact to its client (POST /jobs/{job_id}/attach)",
		}, times{least: model.MinAttached, most: model.MaxDisconnectGrace, off: true},
			func(r *wire.Submit) **wire.Duration { return &r.Attached }, func(s *model.Spec) *time.Duration { return &s.Attached }),
	}
}

// arrayFields returns the tasks of an array, which array reads together.
func arrayFields() []Field {
	size := number(Field{Name: "array_size", Doc: "number of tasks, which differ in BERTH_ARRAY_INDEX"},
		1, model.MaxTasks, func(r *wire.Submit) **int64 { return &r.Tasks })
	size.read = array
	most := number(Field{Name: "array_limit", Doc: "the most that run at once"}, 1, model.MaxTasks, func(r *wire.Submit) **int64 { return &r.MaxRunning })
	most.read, most.write = nil, writeThrottle
	return []Field{
		size, most,
		Field{
			Name: "params", Doc: "a sweep: an array over the grid of lines such as lr=1e-3,1e-4 and seed=1..5", Kind: "list of texts",
			Bounds: atMost(model.MaxSweep), write: writeSweep,
			Flags: []Flag{{Name: "param", Help: "an array over the grid of `NAME=VALUE,...`; 1..5 stands for 1,2,3,4,5"}},
		}.setBy(FormRepeat, func(r *wire.Submit, v *FlagValue) error {
			r.Params = v.List
			return nil
		}),
		Field{
			Name: "array_indices", Doc: "the tasks' numbers, in place of array_size: 0-99:10 or 3,7,9-12", Kind: "text", Bounds: atMost(model.MaxIndices),
			write: writeIndices,
			Flags: []Flag{{
				Name: "array", Short: "a", Help: "an array of tasks: `0-99`, 0-99:10, 3,7,9-12; 0-99%8 for at most 8 at once",
			}},
		}.setBy(FormText, setArray),
	}
}

// startFields returns when a job starts. No option has a Set: jobs are found in the cluster, times by the user's clock.
func startFields() []Field {
	return []Field{
		{
			Name: "dependencies", Doc: "earlier jobs that it waits for: afterok:12:13, afterany:14, afternotok:15, aftercorr:16 (task by task) or after:17+5 (5 minutes after its begin); joined by ? one is enough", Kind: "list of texts", read: awaited,
			Flags: []Flag{
				{Name: "after", Short: "d", Help: "start after these `jobs` have completed; @ is the newest of this user's", Form: FormList},
				{Name: "afterok", Help: "the same as --after", Form: FormList},
				{Name: "afterany", Help: "start after these `jobs` have ended, with any result", Form: FormList},
				{Name: "aftercorr", Help: "start each task of the array after the task of the same number of these `jobs` has completed", Form: FormList},
				{Name: "afterbegin", Help: "start after these `jobs` have begun; 12+5 is 5 minutes later", Form: FormList},
				{Name: "afternotok", Help: "start after these `jobs` have failed or been canceled", Form: FormList},
				{
					Name: "dependency", Help: "dependencies in Slurm's `form`, such as afterok:12:13,after:14+5; joined by ? in place of commas one is enough",
				},
			},
		},
		instantOf(Field{
			Name: "begin", Doc: "earliest start: an RFC 3339 time, or +2h",
			Flags: []Flag{{Name: "begin", Help: "earliest start, a `time`: +2h, 20:00, 2026-01-31T20:00"}},
		}, func(r *wire.Submit) *string { return &r.Begin }, func(s *model.Spec) *model.Time { return &s.Begin }),
		instantOf(Field{
			Name: "deadline", Doc: "the job fails if it has not ended by then: an RFC 3339 time, or +2h",
			Flags: []Flag{{Name: "deadline", Help: "deadline, a `time`: the job fails if it has not ended by then"}},
		}, func(r *wire.Submit) *string { return &r.Deadline }, func(s *model.Spec) *model.Time { return &s.Deadline }),
	}
}

func notifyFields() []Field {
	return []Field{
		text(Field{
			Name: "webhook_url", Doc: "gets the job's events",
			Flags: []Flag{{Name: "webhook", Help: "`URL` that gets the job's events"}},
		}, model.MaxURL, func(r *wire.Submit) *string { return &r.WebhookURL }, func(s *model.Spec) *string { return &s.WebhookURL }),
		Field{
			Name: "notify", Doc: "which: queued, scheduled, started, completed, failed, canceled, preempted, requeued, lost, near_limit; by default its end",
			Kind: "list of texts", read: readNotify, write: writeNotify,
			Flags: []Flag{{Name: "notify", Help: "`events` for --webhook, such as started,failed,near_limit, or * (default: its end)"}},
		}.setBy(FormList, func(r *wire.Submit, v *FlagValue) error {
			r.Notify = v.List
			return nil
		}),
	}
}

// readUmask reads a mask of file modes.
func readUmask(r *wire.Submit, c *command.Submit, _ model.Time) error {
	if r.Umask == "" {
		return nil
	}
	mask, err := strconv.ParseUint(r.Umask, 8, 16)
	if err != nil || mask > 0o777 || len(r.Umask) > 4 {
		return problem.Invalid("umask", "must be a mask of file modes in octal, 0000 to 0777, such as 0027")
	}
	c.Spec.Umask = fmt.Sprintf("%04o", mask)
	return nil
}
