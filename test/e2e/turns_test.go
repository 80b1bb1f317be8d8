package e2e

import (
	"strings"
	"testing"
)

// A sweep's tasks find their values; what waits for the sweep starts when all of it
// has ended, or ends with the reason why it never will.
func sweepAndWait(t *testing.T, c *cluster) {
	sweep := strings.TrimSpace(c.ok("submit", "--parsable", "--hold", "-g", "1", "-J", "sweep", "--param", "lr=1e-3,1e-4", "--param", "seed=7,8", "--",
		"sh", "-c", `echo "$BERTH_ARRAY_INDEX of $BERTH_ARRAY_SIZE: $BERTH_PARAM_lr $BERTH_PARAMS"; test $BERTH_PARAM_seed = 7`))
	has(t, c.ok("submit", "-g", "1", "-J", "never", "--after", sweep, "--", "true"), "(waits for job "+sweep+")")
	vain := newestJob(c)
	has(t, c.ok("explain", vain), "after job "+sweep+" has completed, and that is queued")
	c.ok("release", sweep)
	s := c.berth("submit", "--wait", "-g", "1", "-J", "always", "--dependency", "afterany:"+sweep, "--", "true")
	if s.code != 0 {
		t.Fatalf("exit code %d: %s", s.code, s.err)
	}
	has(t, c.ok("tasks", sweep), "lr", "seed", "1e-4", "exit code 1")
	has(t, c.ok("show", sweep), "4 tasks (0-3): 0 queued, 0 running, 2 completed, 2 failed", "lr=1e-3,1e-4 seed=7,8")
	has(t, c.ok("show", sweep+".3"), "lr=1e-4 seed=8", "exit code 1")
	has(t, c.ok("logs", sweep+".2"), `2 of 4: 1e-4 {"lr":1e-4,"seed":7}`)
	c.ended(vain)
	has(t, c.ok("show", vain), "dependency not met: job "+sweep, "afterok of job "+sweep+", which is failed (never)")
	if s := c.berth("submit", "-g", "1", "--after", sweep, "--", "true"); s.code != 1 || !strings.Contains(s.err, "has failed") {
		t.Errorf("exit code %d: %s", s.code, s.err)
	}
}

// newestJob is the id that @ stands for.
func newestJob(c *cluster) string {
	fields := strings.Fields(c.ok("show", "@"))
	return fields[1]
}
