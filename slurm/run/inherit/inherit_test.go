package inherit

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestMain lets a process of this test show what it would pass on.
func TestMain(m *testing.M) {
	switch os.Getenv("INHERIT_TEST") {
	case "show":
		_, _ = os.Stdout.WriteString(Octal(Umask()) + " " + Limits(Which{}))
	case "set":
		list, err := Parse(os.Getenv("INHERIT_LIMITS"))
		if err != nil || !Differ(list) {
			os.Exit(3)
		}
		Set(list)
		out, err := exec.Command("/bin/sh", "-c", "ulimit -S -n; ulimit -S -c; ulimit -S -s").Output()
		if _, failed := os.Stdout.Write(out); err != nil || failed != nil || Differ(list) {
			os.Exit(4)
		}
	default:
		os.Exit(m.Run())
	}
}

// shell runs this test's program in a shell, after some commands.
func shell(t *testing.T, before string, env ...string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", before+`; exec "$0"`, os.Args[0]) //nolint:gosec // this test's program
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", before, err)
	}
	return string(out)
}

// What Linux gives to every process is not passed on; what the user has changed is, also the number of open files, which each program in Go
// raises for itself.
func TestWhatIsPassedOn(t *testing.T) {
	t.Parallel()
	const usual = "ulimit -S -n 1024; ulimit -S -c 0; ulimit -S -s 8192; "
	for _, ofHost := range []string{"ulimit -S -l 64", "ulimit -S -l 65", "ulimit -S -u 4096"} {
		if got := shell(t, usual+ofHost+"; umask 022", "INHERIT_TEST=show"); got != "0022 " {
			t.Errorf("%s: usual values are passed on: %s", ofHost, got)
		}
	}
	got := shell(t, "umask 0077; ulimit -S -n 500; ulimit -S -s 4096; ulimit -S -f 100000", "INHERIT_TEST=show")
	for _, want := range []string{"0077 ", "nofile=500", "stack=4194304", "fsize="} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q is passed on: %s", want, got)
		}
	}
}

// A limit above the hard one of this host becomes the hard one.
func TestSetLimits(t *testing.T) {
	t.Parallel()
	got := shell(t, "ulimit -n 2000; ulimit -c 0", "INHERIT_TEST=set", "INHERIT_LIMITS=nofile=5000,core=unlimited,stack=4194304")
	if got != "2000\n0\n4096\n" {
		t.Errorf("the limits are %q", got)
	}
}

// All that Limits writes can be read, and each name that Slurm has selects one limit.
func TestLimitsComeBack(t *testing.T) {
	t.Parallel()
	list, err := Parse(Limits(Which{All: true}))
	if err != nil || len(list) != len(resources()) {
		t.Errorf("%d limits of %d came back: %v", len(list), len(resources()), err)
	}
	for _, r := range resources() {
		w, none, err := ParseWhich("RLIMIT_" + strings.ToUpper(r.name))
		one, failed := Parse(Limits(w))
		if err != nil || failed != nil || none || len(one) != 1 || one[0].Number != r.number {
			t.Errorf("%s: %+v, %v, %v", r.name, one, err, failed)
		}
	}
	if _, none, err := ParseWhich("NONE"); err != nil || !none {
		t.Errorf("NONE: %v", err)
	}
	if w, none, err := ParseWhich(""); err != nil || none || !w.All {
		t.Errorf("no value: %+v, %v", w, err)
	}
	for _, bad := range []string{"files", "core,x"} {
		if _, _, err := ParseWhich(bad); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	for _, bad := range []string{"x=1", "core", "core=-1", "core=1K"} {
		if list, err := Parse("stack=1," + bad + ",cpu=2"); err == nil || len(list) != 2 {
			t.Errorf("with %q: %v, %v", bad, list, err)
		}
	}
}
