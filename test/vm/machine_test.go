package vm

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// patience bounds the life of the machine.
const patience = 40 * time.Minute

// payload makes the machine's second disk: the programs, built of these sources, the units, and the cases.
func payload(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	files := filepath.Join(dir, "files")
	if err := os.Mkdir(files, 0o755); err != nil {
		t.Fatal(err)
	}
	for program, env := range map[string]string{"berth": "CGO_ENABLED=0", "berthd": "CGO_ENABLED=1", "berth-supervisor": "CGO_ENABLED=0"} {
		path := filepath.Join(files, program)
		if err := command(t, "env", env, "go", "build", "-o", path, "github.com/berth-gpu/berth/cmd/"+program); err != nil {
			t.Fatal(err)
		}
	}
	given, err := filepath.Glob("../../deploy/*.service")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range append(given, "../../deploy/needrestart-berth.conf", "guest.sh", "tick.sh") {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(files, filepath.Base(path)), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	pack(t, dir, files)
	disk := filepath.Join(dir, "payload.img")
	if err := command(t, "mke2fs", "-q", "-t", "ext4", "-d", files, disk, "200M"); err != nil {
		t.Fatal(err)
	}
	return disk
}

// pack makes the package of these sources, as make release does, and adds it to the files.
func pack(t *testing.T, dir, files string) {
	t.Helper()
	nfpm, err := exec.LookPath("nfpm")
	if err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "dist")
	if err := command(t, "sh", "-c", `cd ../.. && exec go run ./test/internal/release -nfpm "$0" -arch amd64 -out "$1"`, nfpm, out); err != nil {
		t.Fatal(err)
	}
	made, err := filepath.Glob(filepath.Join(out, "*.deb"))
	if err != nil || len(made) != 1 {
		t.Fatalf("packages: %v, %v", made, err)
	}
	if err := os.Rename(made[0], filepath.Join(files, "berth.deb")); err != nil {
		t.Fatal(err)
	}
}

// boot runs the machine until it switches itself off, and returns what the guest has reported. What it writes is lost
// with it. KVM is not used: nested in another virtual machine it may be there and hang.
func boot(t *testing.T, image, disk string) *report {
	t.Helper()
	console := filepath.Join(t.ArtifactDir(), "console.log")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, "qemu-system-x86_64",
		"-accel", "tcg,thread=multi", "-cpu", "max", "-smp", "2", "-m", "2048",
		"-display", "none", "-monitor", "none", "-nic", "none",
		"-serial", "file:"+console, "-serial", "stdio",
		"-kernel", filepath.Join(image, "vmlinuz"), "-initrd", filepath.Join(image, "initrd"),
		"-append", "root=/dev/vda rw console=ttyS0 loglevel=4 systemd.show_status=0 tsc=unstable nowatchdog panic=10 "+
			"systemd.mask=apt-daily.timer systemd.mask=apt-daily-upgrade.timer",
		"-drive", "file="+filepath.Join(image, "root.img")+",if=virtio,format=raw,snapshot=on",
		"-drive", "file="+disk+",if=virtio,format=raw,readonly=on")
	cmd.WaitDelay = 10 * time.Second
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := &report{}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		r.add(lines.Text())
		t.Logf("%4.0f s  %s", time.Since(began).Seconds(), strings.TrimSpace(lines.Text()))
	}
	if err := errors.Join(cmd.Wait(), ctx.Err()); err != nil {
		t.Errorf("the machine: %v\n%s", err, complaints.String())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Log(tail(console))
		}
	})
	return r
}

// tail returns the last lines of a file.
func tail(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.ReplaceAll(string(text), "\r", ""), "\n")
	return fmt.Sprintf("the end of the console (-artifacts keeps all of it):\n%s", strings.Join(lines[max(0, len(lines)-120):], "\n"))
}
