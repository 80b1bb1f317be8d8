package filename

import (
	"strings"
	"testing"
)

func TestExpand(t *testing.T) {
	t.Parallel()
	batch := Values{Job: 128, ArrayTask: NoTask, Name: "train", User: "ada", Step: Batch, Node: "gpu01.site.example"}
	task := Values{Job: 131, ArrayJob: 128, ArrayTask: 7, Name: "sweep", User: "ada", Step: "0", Node: "gpu02", NodeIndex: 1, Task: 5}
	for _, c := range []struct {
		pattern string
		v       Values
		want    string
	}{
		{Default, batch, "slurm-128.out"},
		{DefaultArray, task, "slurm-128_7.out"},
		{DefaultArray, batch, "slurm-128_4294967294.out"},
		{"%x-%u.log", batch, "train-ada.log"},
		{"logs/%x/%j.out", batch, "logs/train/128.out"},
		{"%J_%s_%N_%n_%t", batch, "128_batch_gpu01_0_0"},
		{"%J_%s_%N_%n_%t", task, "131.0_0_gpu02_1_5"},
		{"job%6j-%4a-%2t-%3n-%2s", task, "job000131-0007-05-001-00"},
		{"%10x|%5N", task, "sweep|gpu02"},
		{"%99j", batch, "0000000128"},
		{"%b", task, "7"},
		{"100%%", batch, "100%"},
		{"%%j", batch, "%j"},
		{"%q-%4q-%", batch, "%q-%4q-%"},
		{`\\out-%j.log`, batch, "out-%j.log"},
		{`out\%j`, batch, "out%j"},
		{"", batch, ""},
		{"%99999999999999999999j", batch, "%99999999999999999999j"},
	} {
		if got := Expand(c.pattern, c.v); got != c.want {
			t.Errorf("%q is %q, want %q", c.pattern, got, c.want)
		}
	}
	task.ArrayTask = 123
	if got := Expand("%b", task); got != "3" {
		t.Errorf("the last digit of 123 is %q", got)
	}
}

func TestKnown(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]When{
		"out": AtSubmission, "%x-%u": AtSubmission, "%%j": AtSubmission, `\%t`: AtSubmission, "%q": AtSubmission,
		"%j": AtQueueing, "%A_%4a": AtQueueing, "%x-%b": AtQueueing, "%J": AtStart, "%s": AtStart,
		"%N": OnNode, "%j-%n": OnNode, "%t": OfTask, "%t-%N": OfTask,
	} {
		if got := Known(pattern); got != want {
			t.Errorf("%q is known at %d, want %d", pattern, got, want)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, seed := range []string{Default, DefaultArray, "%%%j%", `\%j`, "%010t", "%5", "%x%x"} {
		f.Add(seed)
	}
	v := Values{Job: 1, ArrayTask: 3, Name: "name", User: "user", Node: "node"}
	other := v
	other.Job, other.ArrayTask, other.Step, other.Node, other.NodeIndex, other.Task = 2, 4, "1", "other", 1, 1
	f.Fuzz(func(t *testing.T, pattern string) {
		one, two := Expand(pattern, v), Expand(pattern, other)
		if Known(pattern) == AtSubmission && one != two {
			t.Fatalf("%q is known at submission, and is %q and %q", pattern, one, two)
		}
		if !strings.ContainsAny(pattern, `%\`) && one != pattern {
			t.Fatalf("%q has no letter and is %q", pattern, one)
		}
	})
}
