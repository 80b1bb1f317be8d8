package check

// checkWaits: a task waits since its submission or later, and since no instant that is to come but its begin. The time for
// which it has waited does not grow while it is held, and what it has ceded to others it has run.
func checkWaits(c *checker) {
	now := c.s.Settings().Clock
	for k, task := range c.s.Tasks.All() {
		job, _ := c.s.Jobs.Get(k.Job)
		c.hold(task.Since >= job.Submitted && task.Since <= max(now, job.Spec.Begin), OnlyForward,
			"task %s waits since %d, was submitted at %d and is to begin at %d", k, task.Since, job.Submitted, job.Spec.Begin)
		c.hold(task.Paused <= now && (task.State.Terminal() || task.Held == (task.Paused > 0)), OnlyForward,
			"task %s does not grow older since %d, and is held: %t", k, task.Paused, task.Held)
		c.hold(task.Waited >= 0 && (task.Started > 0 || task.Waited == 0) && task.Eligible() >= job.Submitted, TotalsAgree,
			"task %s started at %d after a wait of %s, and was submitted at %d", k, task.Started, task.Waited, job.Submitted)
		c.hold(task.Ceded >= 0 && task.Ceded <= task.Executed, TotalsAgree, "task %s has ceded %s of a run time of %s", k, task.Ceded, task.Executed)
		c.hold(task.Started == 0 || task.Started <= now, OnlyForward, "task %s started at %d", k, task.Started)
	}
}
