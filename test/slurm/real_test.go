package slurm

import (
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds each wait; a busy machine is slow.
const patience = 2 * time.Minute

// The numbers of jobs: those of both sides lie between, so that they are told from the numbers that scripts write.
const (
	firstJob = 30
	lastJob  = 99
)

// daemonPath is where Debian has Slurm's daemons.
const daemonPath = "/usr/sbin:/sbin"

// needSlurm skips the test where Slurm cannot run.
func needSlurm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("make slurm-test compares Berth with a real Slurm, which takes a minute")
	}
	skip := t.Skipf
	if os.Getenv("SLURM_TEST_REQUIRED") != "" {
		skip = t.Fatalf
	}
	if os.Geteuid() != 0 {
		skip("Slurm's daemons run as root, and this test as account %d: run make slurm-test as root", os.Geteuid())
	}
	t.Setenv("PATH", os.Getenv("PATH")+":"+daemonPath)
	for _, program := range []string{"munged", "slurmctld", "slurmd", "sbatch", "srun", "sinfo"} {
		if _, err := exec.LookPath(program); err != nil {
			skip("%s is not installed: apt-get install slurm-wlm", program)
		}
	}
}

// startSlurm runs Slurm's daemons until the test's end, with two nodes, and returns the path of slurm.conf.
func startSlurm(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{"state", "run", "munge"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	key := make([]byte, 128)
	_, _ = rand.Read(key)
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	host, _, _ = strings.Cut(host, ".")
	conf := filepath.Join(dir, "slurm.conf")
	gres := "Name=gpu File=" + filepath.Join(dir, "gpu[0-3]") + "\n"
	files := map[string]string{
		"munge/key": string(key), "gres.conf": gres,
		"slurm.conf": configuration(t, dir, host),
	}
	for name, text := range files { // order-free: files of a folder
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"gpu0", "gpu1", "gpu2", "gpu3"} { // devices as /dev/null, which stand for GPUs
		if err := syscall.Mknod(filepath.Join(dir, name), syscall.S_IFCHR|0o666, 1<<8|3); err != nil {
			t.Skipf("no device can be made, and Slurm's GPUs are devices: %v", err)
		}
	}
	socket := filepath.Join(dir, "run", "munge.sock")
	daemon(t, dir, "munged", "--foreground", "--force", "--socket="+socket, "--key-file="+filepath.Join(dir, "munge", "key"),
		"--pid-file="+filepath.Join(dir, "munge", "pid"), "--log-file="+filepath.Join(dir, "munge", "log"), "--seed-file="+filepath.Join(dir, "munge", "seed"))
	waitFor(t, "munged listens", func() bool {
		_, err := os.Stat(socket)
		return err == nil
	})
	daemon(t, dir, "slurmctld", "-D", "-f", conf)
	for _, node := range []string{"node1", "node2"} {
		daemon(t, dir, "slurmd", "-D", "-f", conf, "-N", node)
	}
	waitFor(t, "both nodes of Slurm are idle", func() bool {
		cmd := exec.Command("sinfo", "-h", "-N", "-o", "%T")
		cmd.Env = append(os.Environ(), "SLURM_CONF="+conf)
		out, _ := cmd.Output()
		return string(out) == "idle\nidle\n"
	})
	return conf
}

// configuration returns slurm.conf: without cgroups, accounting and anything else that a test machine may lack.
func configuration(t *testing.T, dir, host string) string {
	t.Helper()
	lines := []string{
		"ClusterName=real", "SlurmctldHost=" + host + "(127.0.0.1)", fmt.Sprintf("SlurmctldPort=%d", freePort(t)),
		"SlurmUser=root", "SlurmdUser=root", "AuthType=auth/munge", "CryptoType=crypto/munge", "AuthInfo=socket=" + dir + "/run/munge.sock,cred_expire=15",
		"StateSaveLocation=" + dir + "/state", "SlurmdSpoolDir=" + dir + "/spool-%n", "SlurmctldPidFile=" + dir + "/run/slurmctld.pid",
		"SlurmdPidFile=" + dir + "/run/slurmd-%n.pid", "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "SwitchType=switch/none", "MpiDefault=none",
		"SelectType=select/cons_tres", "SelectTypeParameters=CR_Core_Memory", "SchedulerType=sched/backfill",
		"SchedulerParameters=sched_interval=1,batch_sched_delay=0,bf_interval=1,sched_min_interval=0", "AccountingStorageType=accounting_storage/none",
		"JobAcctGatherType=jobacct_gather/none", "JobCompType=jobcomp/none", "ReturnToService=2", "GresTypes=gpu", "KillWait=5",
		fmt.Sprintf("FirstJobId=%d", firstJob+1), "SlurmdParameters=config_overrides",
	}
	for _, node := range []string{"node1", "node2"} {
		lines = append(lines, fmt.Sprintf("NodeName=%s NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2 RealMemory=2000 Gres=gpu:4 State=UNKNOWN", node, host, freePort(t)))
	}
	lines = append(lines, "PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP")
	return strings.Join(lines, "\n") + "\n"
}

// daemon runs a program until the test's end. What the program prints is shown if the test fails.
func daemon(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	out, err := os.CreateTemp(dir, program+"-*.log")
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	gone := make(chan struct{})
	go func() { _ = cmd.Wait(); close(gone) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-gone:
		case <-time.After(patience):
			t.Errorf("%s did not end", program)
			_ = cmd.Process.Kill()
		}
		if text, err := os.ReadFile(out.Name()); t.Failed() {
			t.Logf("%s: %v\n%s", program, err, last(string(text), 4000))
		}
		_ = out.Close()
	})
}

// last returns at most the last n bytes of a text.
func last(text string, n int) string { return text[max(0, len(text)-n):] }

// freePort returns a port that is not given to connections while it has no listener.
func freePort(t *testing.T) int {
	t.Helper()
	for range 100 {
		port := 20_000 + mathrand.IntN(12_000)
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			err = l.Close()
		}
		if err == nil {
			return port
		}
	}
	t.Fatal(errors.New("no free port"))
	return 0
}

func waitFor(t *testing.T, what string, holds func() bool) {
	t.Helper()
	limit := time.After(patience)
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for !holds() {
		select {
		case <-tick.C:
		case <-limit:
			t.Fatalf("waited %s in vain: %s", patience, what)
		}
	}
}
