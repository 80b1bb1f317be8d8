package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// restoring is a cluster whose peers are all gone, and what was made of it before.
type restoring struct {
	*lab

	backup, passphrase   string // files
	known, later, waited string // jobs: in the backup, submitted after it, and waiting in it
	scripted             string // a job that waits in the backup, with a script and an environment
}

// local is the socket of the peer of a machine.
const local = " --address unix:/var/lib/berth/server/admin.sock"

// loseAll makes a cluster with jobs and a backup, and destroys two of its peers; the third is stopped.
func loseAll(t *testing.T) *restoring {
	t.Helper()
	steps, err := quickStart("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	r := &restoring{lab: startLab(t, plan()), backup: filepath.Join(dir, "all.berth.tar.zst"), passphrase: filepath.Join(dir, "passphrase")}
	if err := r.follow(t.Context(), steps, func(step, string) {}); err != nil {
		t.Fatal(err)
	}
	submit := func(args string) string {
		return strings.Fields(r.ok(t, "laptop", "berth submit -g 1 "+args+" -- sleep 600"))[2]
	}
	runs := func(id string) {
		until(t, "job "+id+" runs", func() bool { return strings.Contains(r.ok(t, "laptop", "berth show "+id), "running") })
	}
	r.known, r.waited = submit(""), submit("--hold")
	runs(r.known)
	script := filepath.Join(dir, "job.sh")
	r.ok(t, "laptop", "printf '#!/bin/sh\\ntest \"$A\" = b\\n' >"+script)
	r.scripted = strings.Fields(r.ok(t, "laptop", "berth submit -g 1 --hold --env A=b "+script))[2]
	r.ok(t, "p1", "echo a passphrase of six words here >"+r.passphrase)
	r.ok(t, "p1", "berth backup create"+local+" --passphrase-file "+r.passphrase+" "+r.backup)
	if out := r.ok(t, "laptop", "berth backup verify "+r.backup+" --passphrase-file "+r.passphrase); !strings.Contains(out, "whole and keeps every invariant") || !strings.Contains(out, "were opened") {
		t.Fatalf("the backup: %s", out)
	}
	r.later = submit("--name lost --env A=b")
	r.ok(t, "laptop", "berth release "+r.waited)
	runs(r.later)
	runs(r.waited)
	for _, name := range []string{"p1", "p2", "p3"} {
		r.ok(t, name, "systemctl stop berth-server.service")
	}
	for _, name := range []string{"p1", "p3"} {
		r.ok(t, name, "rm -rf /var/lib/berth/* /etc/berth/berth.yaml")
	}
	return r
}

// All peers are lost but for a backup. A cluster that is made of the backup has all that it knew, adopts jobs that run, starts
// no job a second time, and refuses a former peer that comes back.
func TestRestoreFromABackup(t *testing.T) {
	r := loseAll(t)
	r.refusesRestores(t)
	out := r.ok(t, "p1", "berth init --from-backup "+r.backup+" --passphrase-file "+r.passphrase)
	if !strings.Contains(out, "in generation 2: 3 jobs, 1 nodes") && !strings.Contains(out, "in generation 2: ") {
		t.Errorf("the restore: %s", out)
	}
	until(t, "the node is back", func() bool {
		out, err := r.do(t, "p1", "berth nodes"+local)
		return err == nil && strings.Contains(out, "gpu1  up")
	})
	r.ok(t, "p2", "systemctl restart berth-server.service") // of the former generation
	if out := r.ok(t, "p1", "berth cluster status"+local); !strings.Contains(out, "1 peer, 1 with a vote") || !strings.Contains(out, "No job is started") {
		t.Errorf("the status: %s", out)
	}
	if out := r.ok(t, "p1", "berth show "+r.known+local); !strings.Contains(out, "running") {
		t.Errorf("a job that the backup knows: %s", out)
	}
	if out, err := r.do(t, "p1", "berth cluster resume"+local); err == nil || !strings.Contains(out, r.waited+" on node gpu1") {
		t.Errorf("resume before all is adopted: %v: %s", err, out)
	}
	if out := r.ok(t, "p1", "berth nodes --gpus"+local); strings.Count(out, "foreign") != 2 {
		t.Errorf("foreign GPUs:\n%s", out)
	}
	r.ok(t, "p1", "berth node adopt gpu1 "+r.waited+local)
	r.ok(t, "p1", "berth node adopt gpu1 "+r.later+local)
	until(t, "the adopted jobs run", func() bool {
		return strings.Contains(r.ok(t, "p1", "berth show "+r.waited+local), "running") && strings.Contains(r.ok(t, "p1", "berth show "+r.later+local), "running")
	})
	if out := r.ok(t, "p1", "berth show "+r.later+local); !strings.Contains(out, "lost") {
		t.Errorf("a job that the backup does not know: %s", out)
	}
	r.ok(t, "p1", "berth cluster resume"+local)
	next := strings.Fields(r.ok(t, "laptop", "berth submit -g 1 -- true"))[2]
	until(t, "another job ends", func() bool { return strings.Contains(r.ok(t, "laptop", "berth show "+next), "completed") })
	r.ok(t, "laptop", "berth release "+r.scripted)
	until(t, "a job ends whose script and environment were sealed before", func() bool { return strings.Contains(r.ok(t, "laptop", "berth show "+r.scripted), "completed") })
	r.ok(t, "laptop", "berth cancel "+r.later)
	until(t, "an adopted job ends as others do", func() bool { return strings.Contains(r.ok(t, "laptop", "berth show "+r.later), "canceled") })
	token := strings.TrimSpace(r.ok(t, "p1", "berth token join peer"+local+" 2>/dev/null"))
	r.ok(t, "p3", "echo "+token+" | berth join peer --address 10.0.0.1:10000 --id p4")
	until(t, "a new peer is there", func() bool {
		return strings.Contains(r.ok(t, "p1", "berth cluster status"+local), "2 peers, 1 with a vote")
	})
	if out := r.ok(t, "p1", "berth peers"+local); strings.Contains(out, "p2") {
		t.Errorf("a former peer is a member:\n%s", out)
	}
	if out := r.ok(t, "p1", "berth audit --verify"+local); !strings.Contains(out, " verified, 0 missing") {
		t.Errorf("the audit trail: %s", out)
	}
}

// refusesRestores tries what cannot be restored, each of which changes nothing.
func (r *restoring) refusesRestores(t *testing.T) {
	t.Helper()
	broken := r.backup + ".cut"
	r.ok(t, "p1", "head -c 3000 "+r.backup+" >"+broken)
	wrong := r.passphrase + ".wrong"
	r.ok(t, "p1", "echo another passphrase of words >"+wrong)
	for _, c := range []struct{ name, machine, args, want string }{
		{"a file that is cut off", "p1", broken + " --passphrase-file " + r.passphrase, "damaged or incomplete"},
		{"a wrong passphrase", "p1", r.backup + " --passphrase-file " + wrong, "cannot be opened"},
		{"no passphrase", "p1", r.backup, "sealed for passphrase: give --identity"},
		{"an old generation", "p1", r.backup + " --generation 1 --passphrase-file " + r.passphrase, "does not follow generation 1"},
		{"a machine with a peer", "p2", r.backup + " --passphrase-file " + r.passphrase, "nothing was changed: /var/lib/berth/server is the folder of peer p2"},
	} {
		if out, err := r.do(t, c.machine, "berth init --from-backup "+c.args); err == nil || !strings.Contains(out, c.want) || !strings.Contains(out, "nothing was changed") {
			t.Errorf("%s: %v: %s", c.name, err, out)
		}
	}
	if out := r.ok(t, "p1", "ls -A /var/lib/berth /etc/berth"); strings.Contains(out, "berth.yaml") || strings.Contains(out, "server\n") {
		t.Errorf("after refusals there are:\n%s", out)
	}
}
