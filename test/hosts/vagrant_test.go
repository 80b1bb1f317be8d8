package main

import (
	"os"
	"os/exec"
	"testing"
)

// The Vagrantfile is one that vagrant accepts. The machines themselves need a provider, such as VirtualBox.
func TestVagrantfile(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("vagrant"); err != nil {
		t.Skip("vagrant is missing: apt-get install vagrant")
	}
	cmd := exec.Command("vagrant", "validate", "--ignore-provider")
	cmd.Dir = "../.."
	cmd.Env = append(os.Environ(), "VAGRANT_HOME="+t.TempDir(), "VAGRANT_DOTFILE_PATH="+t.TempDir(), "VAGRANT_CHECKPOINT_DISABLE=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
