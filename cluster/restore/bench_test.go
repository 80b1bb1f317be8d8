package restore

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/berth-gpu/berth/cluster/backup"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/apply"
	"github.com/berth-gpu/berth/fsm/state/statetest"
	"github.com/berth-gpu/berth/trust"
)

var benchJobs = flag.Int("restore.jobs", 100_000, "jobs of BenchmarkBackup and BenchmarkRestore")

// crowded returns a state with many jobs that wait, each with a script of a kilobyte and an environment of its own.
func crowded(b *testing.B) *state.State {
	b.Helper()
	c := statetest.New(b)
	s := c.State
	script := make([]byte, 0, 1024)
	for len(script) < 1000 {
		script = append(script, "python train.py --epochs 3 --lr 0.1\n"...)
	}
	const each = 100
	for n := 0; n < *benchJobs; n += each {
		list := make([]command.Command, 0, each)
		for i := range each {
			body := statetest.Job(uint32(1+i%8), func(j *command.Submit) {
				j.Script, j.Env = string(script)+fmt.Sprint(n+i%7), []string{fmt.Sprintf("SEED=%d", n+i), "WANDB_MODE=offline"}
				j.Spec.User, j.Spec.Name = fmt.Sprintf("user%d", i%15), fmt.Sprintf("train-%d", n+i)
			})
			one, err := command.New("user:alice", body)
			if err != nil {
				b.Fatal(err)
			}
			list = append(list, one)
		}
		next, results, _ := apply.Apply(s, state.Meta{Index: s.Index + 1, Term: 1, At: s.Settings().Clock + 1, By: "p1"}, list)
		if !results[0].OK() {
			b.Fatal(results[0].Detail)
		}
		s = next
	}
	return &s
}

func sourceFor(b *testing.B, s *state.State) *backup.Source {
	b.Helper()
	own, err := trust.Found(trust.Member{Name: "p1"}, time.Now())
	if err != nil {
		b.Fatal(err)
	}
	return &backup.Source{State: s, Peer: "p1", Now: time.Now(), Cluster: trust.ClusterOf(own.Authorities[0]), Trust: own, Secrets: own.Secrets()}
}

func written(b *testing.B, source *backup.Source, path string) int64 {
	b.Helper()
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	if err := backup.Write(f, source, &backup.Seal{}); err != nil {
		b.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		b.Fatal(err)
	}
	at, err := f.Seek(0, 1)
	if err != nil {
		b.Fatal(err)
	}
	if err := f.Close(); err != nil {
		b.Fatal(err)
	}
	return at
}

// BenchmarkBackup writes the state of many jobs as a backup, and forces the file to the disk.
func BenchmarkBackup(b *testing.B) {
	source, path := sourceFor(b, crowded(b)), filepath.Join(b.TempDir(), "all")
	for b.Loop() {
		b.ReportMetric(float64(written(b, source, path))/1e6, "MB")
	}
}

// BenchmarkRestore reads and checks such a backup, and makes the data folder of a peer of it.
func BenchmarkRestore(b *testing.B) {
	source, dir := sourceFor(b, crowded(b)), b.TempDir()
	path := filepath.Join(dir, "all")
	written(b, source, path)
	n := 0
	for b.Loop() {
		f, err := os.Open(path)
		if err != nil {
			b.Fatal(err)
		}
		read, err := backup.Read(f, "")
		if err != nil {
			b.Fatal(err)
		}
		if err := f.Close(); err != nil {
			b.Fatal(err)
		}
		n++
		o := optionsIn(filepath.Join(dir, fmt.Sprint("p", n)))
		if err := os.Mkdir(o.Data, 0o700); err != nil {
			b.Fatal(err)
		}
		plan, err := Prepare(read, source.Secrets, o)
		if err != nil {
			b.Fatal(err)
		}
		if err := plan.Write(o); err != nil {
			b.Fatal(err)
		}
		if plan.State.Jobs.Len() != *benchJobs {
			b.Fatalf("%d jobs", plan.State.Jobs.Len())
		}
	}
}
