package sbatch

import (
	"strings"
	"testing"
	"time"
)

func TestParseAllocation(t *testing.T) {
	t.Parallel()
	a, err := ParseAllocation(strings.Fields("-N2 --ntasks 4 -I30 --kill-command=int --no-bell -Q -t 10 bash -c date"))
	if err != nil {
		t.Fatal(err)
	}
	if a.Script != "bash" || strings.Join(a.Arguments, " ") != "-c date" || a.Immediate != 30*time.Second || a.KillSignal != "INT" || !a.Quiet || a.NoShell {
		t.Errorf("%+v", a)
	}
	var names []string
	for _, g := range a.Given {
		names = append(names, g.Option+"="+g.Value)
	}
	if got := strings.Join(names, " "); got != "nodes=2 ntasks=4 quiet= time=10" {
		t.Errorf("options of the job: %s", got)
	}
	for words, want := range map[string]func(*Allocation) bool{
		"--no-shell":    func(a *Allocation) bool { return a.NoShell && a.Script == "" },
		"-I":            func(a *Allocation) bool { return a.Immediate < 0 },
		"-K true":       func(a *Allocation) bool { return a.KillSignal == "TERM" && a.Script == "true" },
		"--version":     func(a *Allocation) bool { return a.Help == "version" },
		"-n1 -- -n 3":   func(a *Allocation) bool { return a.Script == "-n" },
		"--gres=gpu:1 ": func(a *Allocation) bool { return a.Given[0].Value == "gpu:1" },
	} {
		if a, err := ParseAllocation(strings.Fields(words)); err != nil || !want(&a) {
			t.Errorf("%s: %+v, %v", words, a, err)
		}
	}
	for words, part := range map[string]string{
		"--wrap=x": "--wrap: there is no such option of salloc", "-o x true": "-o: there is no such option", "-a 1-3": "-a:", "-K0": "--kill-command: there is no signal",
		"-Ix": "--immediate:", "-N": "--nodes: the value is missing",
	} {
		if a, err := ParseAllocation(strings.Fields(words)); err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("%s: %+v, %v, want %s", words, a, err, part)
		}
	}
}
