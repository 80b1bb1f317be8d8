package setup

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// program puts a program for sh first in the path.
func program(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// A unit that does not start says why: what the check before the start refuses, and not only that it refused.
func TestAUnitThatDoesNotStart(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	program(t, dir, "systemctl", `case "$1" in restart) echo "Job failed." >&2; exit 1;; show) cat "$0.id";; esac`)
	program(t, dir, "journalctl", `case " $* " in *" _TRANSPORT=stdout "*) ;; *) exit 1;; esac
case " $* " in *" _SYSTEMD_INVOCATION_ID=`+"$(cat \"$0.id\")"+` "*) cat "$0.own";; *" --since=@"*) cat "$0.since";; esac`)
	put := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	long := strings.Repeat("x\n", 3)
	const not = "berth-server.service does not start:"
	for _, v := range []struct{ name, id, own, since, want string }{
		{
			"refused settings", "5a5a",
			"/etc/b.yaml:3: server.http: \"here\" is not host:port\n/etc/b.yaml:4: agent.gpus: no\nberth: /etc/b.yaml cannot be used\n", "",
			not + "\n  /etc/b.yaml:3: server.http: \"here\" is not host:port\n  /etc/b.yaml:4: agent.gpus: no\n  /etc/b.yaml cannot be used",
		},
		{
			"a fault of the program", "5a5a",
			"time=1 level=INFO msg=a\n{\"level\":\"INFO\",\"msg\":\"a\"}\nberth: no NVIDIA driver\n", "an older start\n",
			not + " no NVIDIA driver",
		},
		{"started again and again", "", "", long + long + "y\n", not + "\n  x\n  y"},
		{"no invocation in the journal", "5a5a", "", "why\n", not + " why"},
		{
			"nothing is known", "", "", "",
			not + " systemctl restart berth-server.service: exit status 1: Job failed.: see journalctl -u berth-server.service",
		},
	} {
		put("systemctl.id", v.id)
		put("journalctl.id", v.id)
		put("journalctl.own", v.own)
		put("journalctl.since", v.since)
		if err := peerUnit.start(t.Context()); err == nil || err.Error() != v.want {
			t.Errorf("%s:\n%v\nnot\n%s", v.name, err, v.want)
		}
	}
	put("journalctl.since", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n")
	err := peerUnit.start(t.Context())
	if err == nil || strings.Count(err.Error(), "\n") != mostSaid || !strings.HasSuffix(err.Error(), "  10") {
		t.Errorf("many lines: %v", err)
	}
}
