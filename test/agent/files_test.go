package agent_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

// rankFiles is what a node keeps of a rank that runs.
type rankFiles struct {
	data   string // the agent's data folder
	folder string // the rank's
	status string // in the run folder
}

// harms lists what may happen to the files of a rank.
func harms() map[string]func(f rankFiles) error {
	record := func(f rankFiles) string { return filepath.Join(f.folder, "rank.json") }
	flip := func(path string) error {
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		data[len(data)-2] ^= 1 // a brace
		return os.WriteFile(path, data, 0o600)
	}
	return map[string]func(f rankFiles) error{
		"nothing":        func(rankFiles) error { return nil },
		"record cut":     func(f rankFiles) error { return os.Truncate(record(f), 0) },
		"record halved":  func(f rankFiles) error { return os.Truncate(record(f), 100) },
		"record removed": func(f rankFiles) error { return os.Remove(record(f)) },
		"record flipped": func(f rankFiles) error { return flip(record(f)) },
		"latch removed":  func(f rankFiles) error { return os.Remove(filepath.Join(f.folder, "latch")) },
		"folder removed": func(f rankFiles) error { return os.RemoveAll(f.folder) },
		"folder replaced": func(f rankFiles) error {
			return errors.Join(os.RemoveAll(f.folder), os.WriteFile(f.folder, nil, 0o600))
		},
		"folder is a link":  func(f rankFiles) error { return errors.Join(os.RemoveAll(f.folder), os.Symlink("/nowhere", f.folder)) },
		"status cut":        func(f rankFiles) error { return os.Truncate(f.status, 0) },
		"status removed":    func(f rankFiles) error { return os.Remove(f.status) },
		"record and status": func(f rankFiles) error { return errors.Join(os.Remove(record(f)), os.Remove(f.status)) },
		"folder and status": func(f rankFiles) error { return errors.Join(os.RemoveAll(f.folder), os.Remove(f.status)) },
		"orders are garbage": func(f rankFiles) error {
			return os.WriteFile(strings.TrimSuffix(f.status, "status")+"orders", []byte("{"), 0o600)
		},
	}
}

// files finds those of a rank.
func (h *host) files(t testing.TB, key model.AttemptKey) rankFiles {
	t.Helper()
	name := fmt.Sprintf("*-%d-%d-%d-r0", key.Job, key.Task, key.N)
	folder, err := filepath.Glob(filepath.Join(h.dir, "attempts", name))
	status, err2 := filepath.Glob(filepath.Join(h.run, "*", name+".status"))
	if err := errors.Join(err, err2); err != nil || len(folder) != 1 || len(status) != 1 {
		t.Fatal(folder, status, err)
	}
	return rankFiles{h.dir, folder[0], status[0]}
}

// waiter returns a job that ends with an exit code of its own once a file is there.
func waiter(c *cluster, t testing.TB, dir string, code int) model.JobID {
	return c.submit(t, func(b *command.Submit) {
		b.Spec.Command = fmt.Sprintf("while [ ! -e %s/go ]; do sleep 0.05; done; exit %d", dir, code)
	})
}

// Whatever happens to the files of ranks while their agent is down, the next agent takes over living ranks,
// no rank is started again, and each end is reported as it was.
func TestFilesOfARankAreLostWhileTheAgentIsDown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	all := harms()
	h := newHost(t, c, "n1", len(all))
	stop := h.start(t)
	dir, codes, pids := t.TempDir(), map[string]int{}, map[string]int{}
	jobs, files := map[string]model.JobID{}, map[string]rankFiles{}
	for what := range all {
		codes[what] = 10 + len(codes)
		jobs[what] = waiter(c, t, dir, codes[what])
	}
	for what, job := range jobs {
		key := c.running(t, job)
		files[what] = h.files(t, key)
		pids[what], _ = h.supervisor(t, key)
	}
	stop()
	for what, harm := range all {
		if err := harm(files[what]); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	h.restarted(t)
	for what, pid := range pids {
		if !lives(pid) {
			t.Errorf("%s: its supervisor is gone", what)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for what, job := range jobs {
		if task := c.ended(t, job); int(task.ExitCode) != codes[what] || task.Attempts != 1 {
			t.Errorf("%s: exit code %d after %d attempts, want %d after one", what, task.ExitCode, task.Attempts, codes[what])
		}
	}
	c.free(t, len(all))
}

// restarted starts an agent and waits until it is registered.
func (h *host) restarted(t testing.TB) (stop func()) {
	t.Helper()
	epoch := func(c *statetest.Cluster) uint64 {
		n, _ := c.State.Nodes.Get(h.name)
		return n.Epoch
	}
	h.c.mu.Lock()
	before := epoch(h.c.c)
	h.c.mu.Unlock()
	stop = h.start(t)
	h.c.until(t, "the agent is registered", func(c *statetest.Cluster) bool { return epoch(c) > before })
	return stop
}

// lives reports whether a process runs.
func lives(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// harms returns functions that remove files of the agent's data folder, or cut them to nothing.
func (h *host) harms() (remove, empty func(names ...string) func() error) {
	remove = func(names ...string) func() error {
		return func() (err error) {
			for _, name := range names {
				err = errors.Join(err, os.RemoveAll(filepath.Join(h.dir, name)))
			}
			return err
		}
	}
	empty = func(names ...string) func() error {
		return func() (err error) {
			for _, name := range names {
				err = errors.Join(err, os.WriteFile(filepath.Join(h.dir, name), nil, 0o600)) // the agent may not have written one yet
			}
			return err
		}
	}
	return remove, empty
}

// The same for all that the node keeps: one agent after the other takes over the job.
func TestFilesOfANodeAreLostWhileTheAgentIsDown(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := newHost(t, c, "n1", 1)
	dir := t.TempDir()
	stop := h.start(t)
	job := waiter(c, t, dir, 9)
	pid, _ := h.supervisor(t, c.running(t, job))
	remove, empty := h.harms()
	runs := func() error {
		paths, err := filepath.Glob(filepath.Join(h.run, "*"))
		for _, path := range paths {
			err = errors.Join(err, os.RemoveAll(path))
		}
		return err
	}
	for what, harm := range map[string]func() error{
		"attempts":                remove("attempts"),
		"attempts, mark and run":  remove("attempts", "mark", "run"),
		"mark and run cut":        empty("mark", "run"),
		"lineage":                 remove("lineage"),
		"lineage cut":             empty("lineage"),
		"lineage, both":           remove("lineage", "lineage.copy"),
		"lineage cut, both":       empty("lineage", "lineage.copy"),
		"lock":                    remove("lock"),
		"ended":                   remove("ended"),
		"GPUs":                    remove("gpus.json", "gpu-health.json"),
		"GPUs cut":                empty("gpus.json", "gpu-health.json"),
		"run folder":              runs,
		"run folder and attempts": func() error { return errors.Join(runs(), remove("attempts")()) },
		"all": func() error {
			return errors.Join(runs(), remove("attempts", "ended", "mark", "run", "lineage", "lineage.copy", "lock")())
		},
	} {
		stop()
		if err := harm(); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		stop = h.restarted(t)
		if !lives(pid) {
			t.Fatalf("%s: the job's supervisor is gone", what)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if task := c.ended(t, job); task.ExitCode != 9 || task.Attempts != 1 {
		t.Errorf("exit code %d after %d attempts, want 9 after one", task.ExitCode, task.Attempts)
	}
	c.free(t, 1)
}

// A job's changes of its rank's files prevent neither its end nor the freeing of its GPU, and its true exit
// code is reported.
func TestAJobRemovesItsFiles(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	commands := map[string]string{
		"its own folder":    `rm -rf "$BERTH_FOLDER"; exit 3`,
		"the rank's folder": `rm -rf "$(dirname "$BERTH_FOLDER")"; exit 3`,
		"a link":            `d=$(dirname "$BERTH_FOLDER"); rm -rf "$d"; ln -s /nowhere "$d"; exit 3`,
		"a file":            `d=$(dirname "$BERTH_FOLDER"); rm -rf "$d"; echo > "$d"; exit 3`,
		"elsewhere":         `d=$(dirname "$BERTH_FOLDER"); mv "$d" "$d.elsewhere"; exit 3`,
		"no end":            `mkdir -p "$BERTH_FOLDER/../exit.json/full"; exit 3`,
		"no write":          `mkfifo "$BERTH_FOLDER/../exit.json.new"; exit 3`,
		"attempts":          `rm -rf "$(dirname "$(dirname "$BERTH_FOLDER")")"; exit 3`,
	}
	for what, line := range commands {
		h := newHost(t, c, model.NodeID("n-"+strings.ReplaceAll(what, " ", "-")), 1)
		h.start(t)
		job := c.submit(t, func(b *command.Submit) { b.Spec.Command = line })
		if task := c.ended(t, job); task.ExitCode != 3 || task.Attempts != 1 {
			t.Errorf("%s: %s with exit code %d after %d attempts", what, task.State, task.ExitCode, task.Attempts)
		}
	}
	c.free(t, len(commands))
}
