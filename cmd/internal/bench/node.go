package bench

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/cluster/figures"
	"github.com/berth-gpu/berth/cmd/internal/devcluster"
	shown "github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// Bounds of the part node.
const (
	nodeJobs  = 8
	nodeTimes = 10 // the measured time, in times of a run of submit
	logBytes  = 2 << 30
)

// node measures what a host pays for its jobs: the agent's and the supervisors' part of processor
// and memory while eight jobs run, and how fast a job's output goes into its file, compared with
// the same output written directly to a file.
func (r *runner) node(ctx context.Context) (*figures.Table, error) {
	out := &figures.Table{
		Title: fmt.Sprintf("A node with 8 GPUs and %d running jobs", nodeJobs),
		Head: []string{
			"agent's CPU, of one core", "agent's memory", "a supervisor's CPU", "a supervisor's memory", "the largest", "output of a job",
			"straight into a file",
		},
	}
	err := r.with(ctx, 1, func(c *devcluster.Cluster, api *client.Client) error {
		logged, straight, err := r.logSpeed(ctx, api)
		if err != nil {
			return err
		}
		cost, err := r.nodeCost(ctx, c, api)
		if err == nil {
			out.Add(append(cost, perSecond(logged), perSecond(straight))...)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func perSecond(bytes float64) string { return shown.Bytes(bytes) + "/s" }

// nodeCost measures a node's processes for a while.
func (r *runner) nodeCost(ctx context.Context, c *devcluster.Cluster, api *client.Client) (cells []string, err error) {
	for range nodeJobs {
		job := oneLine("bench")
		job.Command, job.Args = "sleep 3600", nil
		if _, err := api.Submit(ctx, job, ""); err != nil {
			return nil, err
		}
	}
	if err := awaitRunning(ctx, api, nodeJobs); err != nil {
		return nil, err
	}
	agent, long := 0, nodeTimes*r.Time
	for _, m := range c.Members() {
		if m.Role == devcluster.RoleAgent {
			agent = m.PID
		}
	}
	supervisors := supervisorsBelow(c.Folder())
	if len(supervisors) < nodeJobs {
		return nil, fmt.Errorf("%d supervisors of %d jobs were found", len(supervisors), nodeJobs)
	}
	r.say("node: %d jobs for %s", nodeJobs, long)
	before, beside := timeOf(agent), sum(supervisors)
	if err := cmdline.Pause(ctx, long); err != nil {
		return nil, err
	}
	used, usedBeside := timeOf(agent)-before, sum(supervisors)-beside
	var all, most float64
	for _, pid := range supervisors {
		size := resident(pid)
		all, most = all+size, max(most, size)
	}
	n := len(supervisors)
	return []string{
		percent(used, long), shown.Bytes(resident(agent)), percent(usedBeside/time.Duration(n), long), shown.Bytes(all / float64(n)),
		shown.Bytes(most),
	}, nil
}

func percent(part, whole time.Duration) string {
	return fmt.Sprintf("%.2f %%", 100*part.Seconds()/whole.Seconds())
}

func sum(pids []int) (total time.Duration) {
	for _, pid := range pids {
		total += timeOf(pid)
	}
	return total
}

// supervisorsBelow returns the supervisors of ranks below a folder.
func supervisorsBelow(folder string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		line, err := os.ReadFile(path) //nolint:gosec // of a process
		words := bytes.Split(line, []byte{0})
		if err != nil || len(words) < 3 || string(words[1]) != "supervise" || !bytes.Contains(line, []byte(folder)) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

func awaitRunning(ctx context.Context, api *client.Client, n int) error {
	for {
		q, err := api.Queue(ctx, client.QueueQuery{State: "running"})
		if err != nil {
			return err
		}
		if len(q.Running) == n {
			return nil
		}
		if err := cmdline.Pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
}

// logSpeed runs a job that writes much output, once to its standard output and once into a file of
// its own, and returns how many bytes a second it wrote each time.
func (r *runner) logSpeed(ctx context.Context, api *client.Client) (logged, straight float64, err error) {
	var took [2]float64
	for i, to := range []string{"", ` > "$TOOK.out"`} {
		r.say("node: a job writes %s", shown.Bytes(logBytes))
		path := filepath.Join(r.Dir, fmt.Sprintf("wrote-%d", i))
		job := oneLine("bench")
		job.Args, job.Env = nil, map[string]string{"TOOK": path}
		job.Command = fmt.Sprintf(`began=$(date +%%s%%N); head -c %d /dev/zero%s; echo $(($(date +%%s%%N) - began)) > "$TOOK"; rm -f "$TOOK.out"`, logBytes, to)
		answer, err := api.Submit(ctx, job, "")
		if err != nil {
			return 0, 0, err
		}
		if err := awaitJob(ctx, api, answer.JobID); err != nil {
			return 0, 0, err
		}
		data, err := os.ReadFile(path) //nolint:gosec // written by the job above
		if err != nil {
			return 0, 0, err
		}
		ns, err := strconv.ParseFloat(strings.TrimSpace(string(data)), 64)
		if err != nil {
			return 0, 0, err
		}
		took[i] = logBytes / (ns / 1e9)
	}
	return took[0], took[1], nil
}
