package demo

import (
	"fmt"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// fate is how a job of the demo is meant to end.
type fate uint8

const (
	completes fate = iota
	completesAtSecond
	fails
	isCanceled
)

// job is one job of the demo.
type job struct {
	name     string
	user     string
	gpus     int64
	nodes    int64
	priority int64
	seconds  float64
	fate     fate

	id string // once it is acknowledged
}

// script is what a job of the demo runs. It marks its own start and end in a file, by which the
// demo is judged.
const script = `#!/bin/sh
mark() { printf '%s %s %s %s %s %s %s\n' "$BERTH_JOB_ID" "$BERTH_ATTEMPT" "${BERTH_NODE_RANK:-0}" "$$" "$1" "$(date +%s%N)" "$BERTH_GPU_UUIDS" >> "$DEMO_MARKS"; }
trap 'mark end; exit 143' TERM
mark start
echo "job $BERTH_JOB_ID, attempt $BERTH_ATTEMPT on GPUs $CUDA_VISIBLE_DEVICES"
sleep "$1" & wait $!
mark end
case "$2" in
fail) exit 7 ;;
second) [ "$BERTH_ATTEMPT" -ge 2 ] || exit 3 ;;
esac
exit 0
`

// argument returns the script's argument, which chooses how the job ends.
func (f fate) argument() string {
	switch f {
	case fails:
		return "fail"
	case completesAtSecond:
		return "second"
	case completes, isCanceled:
	}
	return "well"
}

// request returns the job as a submission.
func (j *job) request(marks string) *wire.Submit {
	r := &wire.Submit{
		Name: j.name, User: j.user, RunID: "demo", Script: script, Command: fmt.Sprintf("%g %s", j.seconds, j.fate.argument()),
		Env: map[string]string{"DEMO_MARKS": marks}, GPUs: &j.gpus, Priority: &j.priority,
	}
	if j.nodes > 0 {
		r.Nodes = &j.nodes
	}
	if j.fate == completesAtSecond {
		one := int64(1)
		r.MaxRetries = &one
	}
	return r
}

// mixture returns the jobs of a believable morning of a research team: one job over all GPUs, a few
// large ones, many small ones, and the three that do not end well.
func mixture() []*job {
	jobs := []*job{
		{name: "pretrain-7b", user: "alice", gpus: 16, nodes: 2, priority: 4, seconds: 4},
		{name: "flaky-loader", user: "bob", gpus: 1, priority: 3, seconds: 0.5, fate: completesAtSecond},
		{name: "bad-config", user: "carol", gpus: 1, priority: 2, seconds: 0.5, fate: fails},
		{name: "wrong-dataset", user: "dave", gpus: 2, priority: 3, seconds: 120, fate: isCanceled},
	}
	for i := range int64(5) {
		jobs = append(jobs, &job{name: fmt.Sprintf("finetune-%d", i), user: pick(i, "alice", "erin"), gpus: 4, priority: 3, seconds: 5 + float64(i%3)})
	}
	for i := range int64(9) {
		jobs = append(jobs, &job{name: fmt.Sprintf("eval-%d", i), user: pick(i, "bob", "carol", "erin"), gpus: 2, priority: 2, seconds: 3 + float64(i%4)})
	}
	for i := range int64(14) {
		jobs = append(jobs, &job{name: fmt.Sprintf("embed-%02d", i), user: pick(i, "dave", "carol", "frank"), gpus: 1, priority: 2, seconds: 2 + float64(i%5)})
	}
	for i := range int64(8) {
		jobs = append(jobs, &job{name: fmt.Sprintf("sweep-%d", i), user: "frank", gpus: 1, priority: 1, seconds: 3})
	}
	return jobs
}

func pick(i int64, names ...string) string { return names[i%int64(len(names))] }
