package main

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// A recovery takes no address of another machine, and no generation that was before.
func TestRecoverChecksTheAddress(t *testing.T) {
	for _, address := range []string{"10.9.9.9:7000", "no-such-host.invalid:7000"} {
		var out, errs strings.Builder
		if code := run("berth", []string{"cluster", "recover", "--data-dir", t.TempDir(), "--address", address}, &out, &errs); code != cmdline.ExitUsage || !strings.Contains(errs.String(), "is no address of this machine") {
			t.Errorf("%s: exit code %d: %s%s", address, code, out.String(), errs.String())
		}
	}
}
