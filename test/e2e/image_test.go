package e2e

import (
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/test/imagetest"
)

// ordinary is the number of an account of every host that has no rights.
const ordinary = "65534"

// TestImageOfAnAccount checks that a script and its steps run in images under the account of their user, on a node whose jobs are kept
// apart:
// with the rights of the account, and with nothing left afterwards.
func TestImageOfAnAccount(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to run jobs under another account")
	}
	owner, err := user.LookupId(ordinary)
	if err != nil {
		t.Skip("needs an account without rights: ", err)
	}
	q := newQuick(t)
	image := filepath.Join("/var/tmp", filepath.Base(filepath.Dir(q.dir))) // a folder that jobs see
	t.Cleanup(func() { _ = os.RemoveAll(image) })
	if err := imagetest.Make(image, "sh", "id", "cat", "ls", "touch"); err != nil {
		t.Skip("needs ldd and a few programs: ", err)
	}
	q.do("", q.machine(1, "p1", "init")...)
	q.start("server", "p1", "--min-free", "1")
	admin := q.socket("p1")
	waitFor(t, "the peer is ready", func() bool { return q.berth("", admin, "nodes").code == 0 })
	q.do(q.do("", "token", "join", "node", "--address", admin), q.machine(2, "gpu1", "join", "node", "--address", q.at(1)+":10000")...)
	q.start("agent", "gpu1", "--gpus", "sim:2", "--run-as-users", "--account", "ann="+owner.Username)
	pin := strings.TrimSpace(q.do("", "cert", "pin", filepath.Join(q.dir, "p1")))
	token := q.do("", "token", "create", "--user", "ann", "--role", "admin", "--address", admin)
	q.do(token, "login", "lab", "--address", q.at(1)+":10000", "--pin", pin)
	script := filepath.Join(q.dir, "script")
	text := "#!/bin/sh\n#SBATCH --gres=gpu:2 -n2 --container-image=" + image + " --container-name=kept\n" + `cat /etc/image
id -un
srun -l --container-image=` + image + ` sh -c 'id -u; cat /srv/data; touch /new && ls /new; echo $CUDA_VISIBLE_DEVICES; ls /var/tmp || echo none; while read name value; do [ "$name" = CapPrm: ] && echo rights $value; done < /proc/self/status'
srun -n1 --container-image=` + image + ` --container-remap-root id -u
`
	if err := os.WriteFile(script, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Dir(program()), 0o711); err != nil { // other accounts run the programs
		t.Fatal(err)
	}
	submitted := exec.Command(program(), "slurm", "sbatch", "--wait", "-D", "/", "-o", "/dev/null", script)
	submitted.Env = q.env
	answer, err := submitted.CombinedOutput()
	out := q.do("", "logs", "1", "--out")
	if err != nil {
		t.Errorf("sbatch ends with %v: %s; the job wrote %s and %s", err, answer, out, q.do("", "logs", "1", "--err"))
	}
	for _, line := range []string{"of the image", owner.Username, "0: " + owner.Uid, "1: 1", "0: /new", "1: 0,1", "1: none", "0: rights 0000000000000000", "0"} {
		if !strings.Contains("\n"+out, "\n"+line+"\n") {
			t.Errorf("no line %q in the output:\n%s", line, out)
		}
	}
	left, err := filepath.Glob(filepath.Join(q.dir, "gpu1", "*", "*", "*", "container-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left are %q, %v", left, err)
	}
	kept, err := filepath.Glob(filepath.Join(q.dir, "gpu1", "images", owner.Uid, "names", "kept", "upper"))
	if err != nil || len(kept) != 1 {
		t.Errorf("the changes of the container with a name are not kept: %q, %v", kept, err)
	}
}
