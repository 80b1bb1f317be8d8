package srun

import (
	"slices"
	"strings"
	"testing"
)

// TestDivide checks which options become the job's and which the step's.
func TestDivide(t *testing.T) {
	t.Parallel()
	isJob := func(name string) bool {
		return name != "label" && name != "kill-on-bad-exit" && name != "jobid" && name != "pty"
	}
	for _, c := range []struct{ words, job, step, command string }{
		{"hostname", "", "", "hostname"},
		{"-N2 -n 4 -l -K -o x.out python -c x", "--nodes=2 --ntasks=4", "--label --kill-on-bad-exit --output=x.out", "python -c x"},
		{"--pty bash", "", "--pty", "bash"},
		{"--gres=gpu:2 -t 5 -p gpu --chdir=/x make -j", "--gres=gpu:2 --time=5 --partition=gpu", "--chdir=/x", "make -j"},
		{
			"-t 5 --container-image=a --no-container-mount-home --container-mounts=/a:/b ls", "--time=5",
			"--container-image=a --no-container-mount-home --container-mounts=/a:/b", "ls",
		},
	} {
		job, step, command, err := Divide(strings.Fields(c.words), isJob)
		if err != nil || !slices.Equal(job, strings.Fields(c.job)) || !slices.Equal(step, strings.Fields(c.step)) ||
			!slices.Equal(command, strings.Fields(c.command)) {
			t.Errorf("%s: %q, %q, %q, %v", c.words, job, step, command, err)
		}
	}
	for words, want := range map[string]bool{"--jobid=3 x": true, "--jobid 3_1 -n2 x": true, "-n1 x --jobid=3": false, "--nodez --jobid=3": false, "": false} {
		if got := NamesJob(strings.Fields(words)); got != want {
			t.Errorf("%q names a job: %t", words, got)
		}
	}
	for words, want := range map[string]string{"--bcast x": "refused", "--nodez=2 x": "--nodez", "--container-image=A x": "--container-image: the image"} {
		if _, _, _, err := Divide(strings.Fields(words), isJob); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", words, err)
		}
	}
}
