package e2e

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
)

// driver runs programs that drive Slurm, and that find Berth's programs under the names of Slurm's.
type driver struct {
	cluster

	program string // of Python
	path    string // PATH
}

// clientLimit bounds one driver.
const clientLimit = 5 * time.Minute

// Unmodified programs that drive Slurm do all they are for on a cluster of Berth. make clients-test runs this.
func TestClients(t *testing.T) {
	python := os.Getenv("BERTH_TEST_PYTHON")
	if python == "" {
		t.Skip("BERTH_TEST_PYTHON is not set: it is a Python with the packages of testdata/clients/requirements.txt; make clients-test installs them, and runs this test")
	}
	c := start(t)
	folder := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command(program(), "slurm", "install", folder).CombinedOutput(); err != nil {
		t.Fatalf("berth slurm install: %v\n%s", err, out)
	}
	for name, drive := range map[string]func(*driver){
		"submitit":      func(d *driver) { d.script("with_submitit.py") },
		"dask-jobqueue": func(d *driver) { d.script("with_dask.py") },
		"snakemake":     (*driver).snakemake,
	} { // order-free: each ends before the next begins
		t.Run(name, func(t *testing.T) {
			d := &driver{cluster: *c, program: python, path: folder + ":" + os.Getenv("PATH")}
			d.t = t
			drive(d)
		})
	}
}

// python is a command line of Python that was started.
type python struct {
	out   bytes.Buffer
	ended chan struct{}
	err   error // once it has ended
}

// start starts a command line of Python in a folder.
func (d *driver) start(folder string, args ...string) *python {
	d.t.Helper()
	ctx, cancel := context.WithTimeout(d.t.Context(), clientLimit)
	d.t.Cleanup(cancel)
	p := &python{ended: make(chan struct{})}
	cmd := exec.CommandContext(ctx, d.program, args...)
	cmd.Dir, cmd.WaitDelay = folder, patience
	cmd.Stdout, cmd.Stderr = &p.out, &p.out
	cmd.Env = append(os.Environ(), "PATH="+d.path, "BERTH_ADDRESS="+strings.Join(d.addresses(), ","), "HOME="+d.t.TempDir())
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		p.err = cmd.Wait()
	}()
	return p
}

// script carries out a script of testdata to its end.
func (d *driver) script(name string) {
	d.t.Helper()
	path, err := filepath.Abs(filepath.Join("testdata", "clients", name))
	if err != nil {
		d.t.Fatal(err)
	}
	folder := d.t.TempDir()
	p := d.start(folder, path, folder)
	<-p.ended
	if p.err != nil || !strings.Contains(p.out.String(), " is done") {
		d.t.Errorf("%s: %v\n%s", name, p.err, &p.out)
	}
}

// snakemake carries out a workflow while the leader is killed: no job is lost, and none runs twice.
func (d *driver) snakemake() {
	t := d.t
	rules, err := os.ReadFile(filepath.Join("testdata", "clients", "Snakefile"))
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "Snakefile"), rules, 0o600); err != nil {
		t.Fatal(err)
	}
	before := d.count()
	p := d.start(folder, "-m", "snakemake", "--executor", "slurm", "--jobs", "2", "--latency-wait", "30",
		"--slurm-init-seconds-before-status-checks", "5", "--default-resources", "slurm_account=lab", "mem_mb=200", "disk_mb=100", "runtime=5")
	d.until("a job of the workflow is queued", func() bool {
		select {
		case <-p.ended:
			t.Fatalf("snakemake ended before the leader was killed: %v\n%s", p.err, &p.out)
		default:
		}
		return d.count() > before
	})
	d.kill(d.leader())
	<-p.ended
	sum, err := os.ReadFile(filepath.Join(folder, "sum.txt"))
	if p.err != nil || err != nil || string(sum) != "1+2\n" {
		t.Errorf("snakemake: %v; the sum is %q, %v\n%s", p.err, sum, err, &p.out)
	}
	ran, err := os.ReadFile(filepath.Join(folder, "ran"))
	if n := bytes.Count(ran, []byte("\n")); n != 3 || d.count()-before != 3 {
		t.Errorf("%d jobs were submitted and %d have run, want 3: %v\n%s", d.count()-before, n, err, ran)
	}
}

// count returns the number of all jobs.
func (d *driver) count() (n int) {
	d.until("the jobs can be listed", func() bool {
		list, err := d.api.Lists().Jobs(d.context(), client.JobsQuery{Limit: 1000})
		if err == nil {
			n = len(list.Jobs)
		}
		return err == nil
	})
	return n
}
