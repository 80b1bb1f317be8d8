package simulate

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// checker runs test/bench/check_simulation.py on a trace and a log of two nodes of eight GPUs.
func checker(t *testing.T, trace, log string, options ...string) (string, bool) {
	t.Helper()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("needs python3, for the independent check of logs")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{"trace": trace, "log": log} { // order-free: two files
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := append([]string{"../../../test/bench/check_simulation.py", filepath.Join(dir, "trace"), filepath.Join(dir, "log"), "2", "8"}, options...)
	out, err := exec.CommandContext(t.Context(), python, args...).CombinedOutput()
	return string(out), err == nil
}

// handMade is two jobs of 12 and 4 GPUs, the first of which is suspended once and preempted once.
const (
	handMade = traceHead + "a,ann,100,12,30000,\nb,bob,160,4,100,1\n"
	handLog  = `0.000,submit,a,12
0.000,start,a,12,n1:8,n2:4
60.000,submit,b,4
1800.000,suspend,a,12,n1:8,n2:4
1800.000,start,b,4,n2:4
1900.000,end,b,4,n2:4
1900.000,start,a,12,n1:8,n2:4
5500.000,preempt,a,12,n1:8,n2:4
6000.000,start,a,12,n2:8,n1:4
30720.000,end,a,12,n2:8,n1:4
`
)

const traceHead = "job_id,user,submit_s,gpus,duration_s,nodes\n"

// The independent check finds nothing wrong in a play's log by the product's defaults, and
// finds what others would have forbidden.
func TestCheckerPasses(t *testing.T) {
	var log, trace bytes.Buffer
	o := options("fair_share")
	o.Preemptible, o.Log, o.Estimates = 0.8, &log, Estimates{Low: 1, High: 9}
	jobs := traceOf(t, 400)
	jobs[0].Submit = 0 // times count from the first
	trace.WriteString(traceHead)
	for _, j := range jobs {
		fmt.Fprintf(&trace, "%s,%s,%.3f,%d,%.3f,\n", j.ID, j.User, j.Submit.Seconds(), j.GPUs, j.Duration.Seconds())
	}
	if r, err := Play(t.Context(), jobs, o); err != nil || r.Preemptions < 20 {
		t.Fatalf("%+v, %v: the play says little", r, err)
	}
	if out, ok := checker(t, trace.String(), log.String()); !ok || !strings.Contains(out, "nothing wrong") {
		t.Error(out)
	}
	for want, args := range map[string][]string{
		"before min_run": {"--min-run", "31m"},
		"the budget of":  {"--budget", "0"},
		"worked for":     {"--restart-cost", "59s"},
	} {
		if out, ok := checker(t, trace.String(), log.String(), args...); ok || !strings.Contains(out, want) {
			t.Errorf("%v: %s; want %q", args, out, want)
		}
	}
}

// It finds every fault that there can be, in logs that are broken by hand.
func TestCheckerFindsFaults(t *testing.T) {
	if out, ok := checker(t, handMade, handLog); !ok {
		t.Fatalf("the log that is whole: %s", out)
	}
	for _, v := range []struct{ name, was, is, want string }{
		{"two at once", "1900.000,end,b,4,n2:4\n1900.000,start,a", "1899.000,start,a", "n2 holds"},
		{"a third node", "start,b,4,n2:4\n1900.000,end,b,4,n2:4", "start,b,4,n3:4\n1900.000,end,b,4,n3:4", "this is another"},
		{"half a gang", "0.000,start,a,12,n1:8,n2:4", "0.000,start,a,12,n1:8", "not whole"},
		{"on two nodes", "start,b,4,n2:4", "start,b,4,n1:2,n2:2", "on 1 nodes evenly"},
		{"moves", "suspend,a,12,n1:8,n2:4", "suspend,a,12,n2:8,n1:4", "it ran on"},
		{"another size", "start,b,4", "start,b,3", "of another size"},
		{"a job outside the trace", "submit,b", "submit,c", "not a job of the trace"},
		{"submitted late", "60.000,submit", "61.000,submit", "submitted again, or at another time"},
		{"never submitted", "60.000,submit,b,4\n", "", "not submitted yet"},
		{"never ends", "30720.000,end,a,12,n2:8,n1:4\n", "", "1 of 2 jobs ended"},
		{"twice", "5500.000,preempt", "5400.000,start,a,12,n1:8,n2:4\n5500.000,preempt", "it may not start now"},
		{"ends too soon", "30720.000", "30719.000", "it has worked for 29999"},
		{"ends too late", "30720.000", "30721.000", "it has worked for 30001"},
		{"a restart that costs nothing", "30720.000", "30600.000", "it has worked for 29880"},
		{"time goes back", "6000.000,start", "5000.000,start", "time goes back"},
		{"ends without a start", "1800.000,start,b,4,n2:4\n", "", "it does not run"},
		{"suspended too soon", "1800.000,suspend", "1799.000,suspend", "before min_run"},
		{"preempted soon after it was stopped", "5500.000,preempt", "5499.000,preempt", "before preempt_cooldown"},
		{"preempted too soon", "1800.000,suspend", "299.000,preempt", "before preempt_min_run"},
		{"an event of no kind", "1900.000,end", "1900.000,ends", "no such event"},
	} {
		log := strings.Replace(handLog, v.was, v.is, 1)
		if log == handLog {
			t.Errorf("%s: nothing was broken", v.name)
		}
		if out, ok := checker(t, handMade, log); ok || !strings.Contains(out, v.want) {
			t.Errorf("%s: %s; want %q", v.name, out, v.want)
		}
	}
}

// It knows the product's own budget and minimum run time: a stop at the first moment that is
// allowed is none too many, a second earlier it is.
func TestCheckerKnowsBudgets(t *testing.T) {
	tuning := model.DefaultTuning()
	// stops is a log in which a job is stopped after so many runs, the last of which is shorter by so much.
	stops := func(less time.Duration, runs ...time.Duration) string {
		at, log := time.Duration(0), "0.000,submit,a,1\n"
		for i, run := range runs {
			log += fmt.Sprintf("%.3f,start,a,1,n1:1\n", at.Seconds())
			if at += run; i == len(runs)-1 {
				at -= less
			}
			log += fmt.Sprintf("%.3f,suspend,a,1,n1:1\n", at.Seconds())
		}
		return log
	}
	first := make([]time.Duration, tuning.Budget)
	var ran time.Duration
	for i := range first {
		first[i] = tuning.MinRun
		ran += tuning.MinRun
	}
	budget := append(first, tuning.BudgetEvery-ran, tuning.BudgetEvery)
	for want, log := range map[string]string{
		"0 of 1 jobs ended": stops(0, budget...), // that is all that is wrong
		"before min_run":    stops(time.Second, tuning.MinRun),
		fmt.Sprintf("stop number %d: the budget", tuning.Budget+1): stops(time.Second, budget[:tuning.Budget+1]...),
		fmt.Sprintf("stop number %d: the budget", tuning.Budget+2): stops(time.Second, budget...),
	} {
		if out, ok := checker(t, traceHead+"a,ann,0,1,1000000,\n", log); ok || !strings.Contains(out, want) {
			t.Errorf("%s; want %q in\n%s", out, want, log)
		}
	}
}
