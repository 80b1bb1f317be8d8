package vm

import (
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/test/internal/sources"
)

// cases returns the names of the cases of guest.sh, in their order.
func cases() []string {
	return []string{
		"setup", "doctor", "restart", "package", "kill", "stop-start", "daemon-reload", "daemon-reexec", "needrestart", "out-of-memory",
		"stop-berth-jobs", "no-berth-jobs", "needrestart-alone", "reboot", "former-units",
	}
}

// longest is how long a slow machine takes for the image and all cases.
const longest = 15 * time.Minute

// needed skips the test where it cannot run.
func needed(t *testing.T) {
	t.Helper()
	end, hasEnd := t.Deadline()
	var missing []string
	for _, tool := range []string{"qemu-system-x86_64", "mmdebstrap", "mke2fs", "nfpm"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing = append(missing, tool)
		}
	}
	switch {
	case testing.Short():
		t.Skip("boots a virtual machine, which takes minutes")
	case raced:
		t.Skip("runs without the race detector: programs in the guest are not built with it")
	case runtime.GOARCH != "amd64":
		t.Skipf("the image is one for amd64, not %s", runtime.GOARCH)
	case len(missing) > 0:
		t.Skipf("missing are %s: make vm installs them", strings.Join(missing, ", "))
	case hasEnd && time.Until(end) < longest:
		t.Skipf("takes up to %s, which -timeout does not leave: make vm", longest)
	case os.Geteuid() != 0:
		t.Skip("the files of the image are root's: run it as root")
	}
}

// With the units of deploy/, jobs outlive all that happens to the agent's unit, and end with the unit that is theirs.
func TestUnits(t *testing.T) {
	needed(t)
	if err := sources.Read("../.."); err != nil {
		t.Fatal(err)
	}
	r := boot(t, image(t), payload(t))
	for _, name := range cases() {
		t.Run(name, func(t *testing.T) {
			for _, fault := range r.faults(name) {
				t.Error(fault)
			}
		})
	}
	if more := r.unknown(cases()); len(more) > 0 {
		t.Errorf("cases without a subtest: %v", more)
	}
	if !r.over {
		t.Error("the guest has not come to its end")
	}
}
