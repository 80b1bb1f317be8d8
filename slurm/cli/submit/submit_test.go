package submit

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/slurm/sbatch"
)

// translate returns the submission of a script and a command line, as JSON without the script, and its notes.
func translate(t *testing.T, directives string, args ...string) (got, notes string, err error) {
	t.Helper()
	command, err := sbatch.ParseCommand(append(args, "train.sh", "a b"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := sbatch.Parse(sbatch.Input{
		Command: command, Script: []byte("#!/bin/bash\n#SBATCH " + strings.ReplaceAll(directives, "\n", "\n#SBATCH ") + "\nmake\n"),
		Now: time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC),
	})
	if err != nil {
		t.Fatal(err)
	}
	r, list, err := Request(&j, &Place{
		Folder: "/data/run", Host: "login1", Script: "train.sh",
		Env: map[string]string{"HOME": "/users/ann", "MODE": "fast", "SLURM_JOB_ID": "7", "SLURMD_NODENAME": "x"},
		Read: func(path string) ([]byte, error) {
			switch path {
			case "vars", "/proc/self/fd/5":
				return []byte("A=1\x00B=x=y\x00"), nil
			case "bad":
				return []byte("A\x00"), nil
			case "nodes":
				return []byte("n1\nn2,n[4-5]\n"), nil
			}
			return nil, os.ErrNotExist
		},
		Node:      func() (int, int, error) { return 8, 64, nil },
		Namesakes: func(name string) ([]uint64, error) { return map[string][]uint64{"sweep": {3, 5}}[name], nil },
	})
	if err != nil {
		return "", "", err
	}
	if r.Script == "" || !slices.Equal(r.Args, []string{"a b"}) || r.Lead == nil || !*r.Lead {
		t.Errorf("%s: runs %q with %q, lead %v", directives, r.Script, r.Args, r.Lead)
	}
	r.Script, r.Args, r.Lead = "", nil, nil
	data, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(data), strings.Join(list, "\n"), nil
}

// expected is what the options of a script become.
type expected struct {
	directives string
	want       []string // must occur in the submission
	note       string   // must occur in the notes
}

// requests returns what each option becomes.
func requests() []expected {
	return []expected{
		{"--job-name=x", []string{`"name":"x"`, `"gpu_count":0`, `"cpus":1`, `"workdir":"/data/run"`, `"submit_dir":"/data/run"`, `"submit_host":"login1"`}, ""},
		{"-N 2\n--gres=gpu:a100:4\n-c 8\n--ntasks-per-node=4", []string{
			`"gpu_count":8`, `"nodes":2`, `"gpu_type":"a100"`, `"cpus":32`, `"tasks_per_node":4`, `"cpus_per_task":8`, `"ntasks":8`, `"ntasks_per_node":4`,
		}, ""},
		{"--gpus=1\n--time=1", []string{`"gpu_count":1`, `"time_limit":60`}, ""},
		{"--gpus=1\n--mem=32000", []string{`"host_memory_gb":32,`, `"mem_per_node":32000`}, ""},
		{"--gpus=1\n--mem=0", []string{`"gpu_count":1`}, ""},
		{"-N 2-4\n--gpus-per-node=2", []string{`"gpu_count":8`, `"min_gpus":4`, `"nodes":4`, `"gpus_per_node":"2"`}, ""},
		{"-N 2-4", []string{`"gpu_count":0`, `"nodes":2`}, "takes the smaller number, 2"},
		{"-N 2\n--exclusive", []string{`"gpu_count":16`, `"nodes":2`}, "asks for 8 GPUs of each node"},
		{"-N 1\n--exclusive\n--gpus-per-node=2", []string{`"gpu_count":2`}, "has no effect on other jobs"},
		{"-n 8\n--gpus-per-task=1\n-N 2", []string{`"gpu_count":8`, `"gpus_per_task":1`, `"tasks":8`}, ""},
		{"--array=1-9:2%3", []string{`"array_indices":"1-9:2"`, `"array_limit":3`, `"array":"1-9:2"`}, ""},
		{"-d afterok:12:13,afterany:14", []string{`"dependencies":["afterok:12","afterok:13","afterany:14"]`, `"dependency":"afterok:12:13,afterany:14"`}, ""},
		{"-d after:12+5:13,aftercorr:14", []string{`"dependencies":["after:12+5","after:13","aftercorr:14"]`}, ""},
		{"-d afterok:12?after:13+5", []string{`"dependencies":["afterok:12?after:13+5"]`, `"dependency":"afterok:12?after:13+5"`}, ""},
		{"-J sweep\n-d singleton", []string{`"dependencies":["afterany:3","afterany:5"]`}, ""},
		{"-J alone\n-d singleton", []string{`"name":"alone"`}, ""},
		{"--begin=now+1hour\n--deadline=2026-02-01T00:00:00", []string{`"begin":"2026-01-31T13:00:00Z"`, `"deadline":"2026-02-01T00:00:00Z"`}, ""},
		{"--hold\n--no-requeue\n--gpus=1", []string{`"hold":true`, `"on_lost":"fail"`, `"preemptible":false`}, ""},
		{"--requeue", []string{`"on_lost":"requeue"`}, ""},
		{"-J plain", []string{`"on_lost":"requeue"`}, ""},
		{"--nice=100", []string{`"priority":1`}, "the priority low"},
		{"--nice=-5", []string{`"gpu_count":0`}, "raises the priority"},
		{"--priority=9", []string{`"gpu_count":0`}, "--priority: has no effect"},
		{"--time=10\n--signal=B:USR1@120", []string{`"warn_signal":"USR1"`, `"warn_before":120`}, ""},
		{"--time=10\n--signal=USR1@120", []string{`"warn_signal":"USR1"`, `"signal_steps":true`}, ""},
		{"--signal=USR1@120", []string{`"warn_signal":"USR1"`, `"warn_before":120`}, ""},
		{"--time=0", []string{`"unlimited":true`}, ""},
		{"--time=UNLIMITED", []string{`"unlimited":true`}, ""},
		{"--mem=0", []string{`"gpu_count":0`}, "does not stand for all memory"},
		{"-N 2-4 -n 8 -c 4", []string{`"nodes":2`, `"cpus":16`, `"tasks":8`}, "takes the smaller number, 2"},
		{"-n 256", []string{`"nodes":4`, `"cpus":64`, `"tasks":256`}, "takes 4 nodes"},
		{"-n 8", []string{`"cpus":8`}, ""},
		{"--kill-on-invalid-dep=no -d afterok:7", []string{`"dependencies":["afterok:7"]`}, "no has no effect"},
		{"--container-mounts=/a:/b", []string{`"gpu_count":0`}, "no effect without --container-image"},
		{"--container-image=\"nvcr.io#nvidia/pytorch:24.01-py3\"\n--container-mounts=/a:/b:ro", []string{
			`"container":{"image":"nvcr.io#nvidia/pytorch:24.01-py3","mounts":[{"source":"/a","target":"/b","read_only":true}]}`,
		}, ""},
		{"-o logs/%x-%j.out\n-e /dev/null\n-i in.txt\n--open-mode=append", []string{
			`"stdout":"logs/%x-%j.out"`, `"stderr":"/dev/null"`, `"stdin":"in.txt"`, `"append":true`,
		}, ""},
		{"-o %t.out\n--open-mode=truncate", []string{`"truncate":true`}, "%t is 0 in the file of the script"},
		{"-D sub\n-A vision\n-p gpu,long\n-q high\n--comment='a b'", []string{
			`"workdir":"/data/run/sub"`, `"project":"vision"`, `"partition":"gpu,long"`, `"qos":"high"`, `"comment":"a b"`,
		}, ""},
		{"-D /data", []string{`"workdir":"/data"`}, ""},
		{"-w n[1-2] -x n3", []string{`"nodelist":["n1","n2"]`, `"exclude":["n3"]`}, ""},
		{"-F nodes -N 4", []string{`"nodelist":["n1","n2","n4","n5"]`, `"nodes":4`}, ""},
		{"--export=ALL", []string{`"submit_env":{"HOME":"/users/ann","MODE":"fast"}`, `"export":"ALL"`}, ""},
		{"--export=NONE", []string{`"export":"NONE"`}, ""},
		{"--export=MODE,X=1,GONE", []string{`"submit_env":{"MODE":"fast","X":"1"}`}, ""},
		{"--export=NONE --export-file=vars", []string{`"submit_env":{"A":"1","B":"x=y"}`}, ""},
		{"--export=NONE --export-file=5", []string{`"submit_env":{"A":"1","B":"x=y"}`}, ""},
		{"--reservation=maint", []string{`"reservation":"maint"`}, "--reservation: has no effect"},
		{"--mail-type=END", []string{`"gpu_count":0`}, "--mail-type"},
	}
}

// TestRequest checks what each option becomes.
func TestRequest(t *testing.T) {
	t.Parallel()
	for _, c := range requests() {
		got, notes, err := translate(t, c.directives)
		if err != nil {
			t.Errorf("%s: %v", c.directives, err)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(got, want) {
				t.Errorf("%s becomes %s, without %s", c.directives, got, want)
			}
		}
		if c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
			t.Errorf("%s: notes %q, want %q", c.directives, notes, c.note)
		}
	}
}

// TestRefused checks that what Berth cannot carry out is refused by name, with its place and a remedy.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ directives, want string }{
		{"-J sweep\n-d afterok:1?singleton", "line 3 of the script: --dependency"},
		{"-d afterok:1_3", "write the number of the job in place of 1_3"},
		{"--nodefile=gone", "the file cannot be read"},
		{"--export-file=gone", "the file cannot be read"},
		{"--export-file=bad", "write NAME=value"},
		{"-N 2\n--gpus=3", "--gpus"},
	} {
		got, _, err := translate(t, c.directives)
		e, is := errors.AsType[*sbatch.Error](err)
		if !is || !strings.Contains(fmt.Sprint(e), c.want) || e.Where == "" {
			t.Errorf("%s: %s, %v, want %q with its place", c.directives, got, err, c.want)
		}
	}
}

// TestNoGPUs checks that --exclusive is refused where no node has GPUs.
func TestNoGPUs(t *testing.T) {
	t.Parallel()
	j, err := sbatch.Parse(sbatch.Input{Command: sbatch.Command{Script: "x"}, Script: []byte("#!/bin/sh\n#SBATCH --exclusive\n")})
	if err != nil {
		t.Fatal(err)
	}
	none := func() (int, int, error) { return 0, 0, nil }
	if _, _, err := Request(&j, &Place{Node: none}); err == nil || !strings.Contains(err.Error(), "--gpus-per-node=N") {
		t.Errorf("it was accepted: %v", err)
	}
	lost := errors.New("no peer")
	if _, _, err := Request(&j, &Place{Node: func() (int, int, error) { return 0, 0, lost }}); !errors.Is(err, lost) {
		t.Errorf("the error is %v", err)
	}
}
