package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestWhatASubmissionCarries checks that a job has of its submission what a child of the shell would have: the mask of file modes, and
// limits.
func TestWhatASubmissionCarries(t *testing.T) {
	t.Parallel()
	c := start(t, "--nodes", "1", "--gpus", "4")
	folder := filepath.Join(t.TempDir(), "bin")
	if out, err := exec.Command(program(), "slurm", "install", folder).CombinedOutput(); err != nil {
		t.Fatalf("berth slurm install: %v\n%s", err, out)
	}
	s := &shell{cluster: c, folder: folder, dir: t.TempDir()}
	berth := program()
	for name, v := range map[string]struct{ line, want string }{
		"sbatch":   {`umask 0077; sbatch -Q --wait -o o.out --wrap 'umask; echo UM=$SLURM_UMASK; srun sh -c umask; touch f' >/dev/null; cat o.out; stat -c %a o.out f`, "0077\nUM=0077\n0077\n600\n600\n"},
		"group":    {`umask 0002; sbatch -Q --wait -o g.out --wrap 'umask; touch g' >/dev/null; stat -c %a g.out g`, "664\n664\n"},
		"srun":     {`umask 0027; srun sh -c 'umask; echo $SLURM_UMASK'`, "0027\n0027\n"},
		"salloc":   {`umask 0007; salloc -Q -n1 srun sh -c 'umask; ulimit -S -n'`, "0007\n"},
		"run":      {`umask 0077; ` + berth + ` run -- sh -c umask`, "0077\n"},
		"usual":    {`umask 0022; ` + berth + ` run -- sh -c umask`, "0022\n"},
		"given":    {`umask 0077; ` + berth + ` run --umask 2 -- sh -c umask`, "0002\n"},
		"limits":   {`ulimit -S -n 512; ulimit -S -s 4096; sbatch -Q --wait -o l.out --wrap 'ulimit -S -n; ulimit -S -s; srun sh -c "ulimit -S -n; ulimit -S -s"' >/dev/null; cat l.out`, "512\n4096\n512\n4096\n"},
		"one":      {`ulimit -S -n 512; ulimit -S -s 4096; sbatch -Q --propagate=STACK --wait -o p.out --wrap 'ulimit -S -n; ulimit -S -s' >/dev/null; grep -c 512 p.out; tail -1 p.out`, "0\n4096\n"},
		"in steps": {`sbatch -Q --wait -o s.out --wrap 'ulimit -S -s 2048; ulimit -S -n 300; srun sh -c "ulimit -S -s; ulimit -S -n"; srun --propagate=NONE sh -c "ulimit -S -s" | grep -c 2048' >/dev/null; cat s.out`, "2048\n300\n0\n"},
		"outside":  {`ulimit -S -n 400; srun sh -c 'ulimit -S -n'`, "400\n"},
		"high":     {`sbatch -Q --propagate --wait -o h.out --wrap 'ulimit -S -n' >/dev/null; test "$(cat h.out)" = "$(ulimit -S -n)" && echo same`, "same\n"},
		"image":    {`sbatch -Q --wait -o i.out --container-image=/no.sqsh --wrap true >/dev/null; echo $?; cat i.out`, "1\nberth: the script cannot start: "},
		"missing":  {`sbatch -Q --propagate=FILES --wrap true 2>&1; echo $?`, "--propagate: there is no limit \"FILES\""},
	} {
		t.Run(name, func(t *testing.T) {
			cmd := s.command("sbatch")
			cmd.Path, cmd.Args, cmd.Err = "/bin/bash", []string{"bash", "-c", v.line}, nil
			errs, err := os.Create(filepath.Join(t.TempDir(), "err"))
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = errs.Close() }()
			cmd.Stderr = errs
			out, _ := cmd.Output() // the exit code is that of the last command
			part := name == "image" || name == "missing" || name == "salloc"
			if got := string(out); got != v.want && (!part || !strings.Contains(got, v.want)) {
				said, _ := os.ReadFile(errs.Name())
				t.Errorf("%s\nshows %q, want %q\n%s", v.line, got, v.want, said)
			}
		})
	}
}
