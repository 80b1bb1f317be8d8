package slurm

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// atOnce is how many scripts are submitted at once.
const atOnce = 8

func TestScriptsOnBothSystems(t *testing.T) {
	needSlurm(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	conf := startSlurm(t, filepath.Join(dir, "real"))
	address, links := startBerth(t, filepath.Join(dir, "berth"))
	program, err := exec.LookPath("sbatch")
	if err != nil {
		t.Fatal(err)
	}
	slurm := &side{name: "Slurm", sbatch: program, dir: filepath.Join(dir, "real", "jobs"), env: []string{"SLURM_CONF=" + conf, "PATH=" + os.Getenv("PATH")}}
	berth := &side{
		name: "Berth", sbatch: filepath.Join(links, "sbatch"), dir: filepath.Join(dir, "berth", "jobs"),
		env: []string{"BERTH_ADDRESS=" + address, "PATH=" + links + ":" + os.Getenv("PATH")},
	}
	takeNumbers(t, berth)
	all := scripts()
	var group sync.WaitGroup
	for _, s := range []*side{slurm, berth} {
		for i := range all {
			all[i].prepare(t, filepath.Join(s.dir, all[i].name))
		}
		group.Go(func() { s.runAll(t, all) })
	}
	group.Wait()
	for i := range all {
		t.Run(all[i].name, func(t *testing.T) {
			for _, s := range []*side{slurm, berth} {
				if err := s.failed[i]; err != nil {
					t.Fatal(err)
				}
			}
			compare(t, slurm.normal(i, &all[i]), berth.normal(i, &all[i]))
		})
	}
}

// runAll runs all scripts: those that run alone one after the other, and then the others.
func (s *side) runAll(t *testing.T, all []script) {
	s.results, s.failed = make([]result, len(all)), make([]error, len(all))
	var group sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for _, alone := range []bool{true, false} {
		for i := range all {
			if all[i].alone != alone {
				continue
			}
			group.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				s.results[i], s.failed[i] = s.run(t, &all[i])
			})
			if alone {
				group.Wait()
				s.cleaned(t)
			}
		}
	}
	group.Wait()
}

// gpusInUse finds nodes with GPUs that are in use or being checked.
var gpusInUse = regexp.MustCompile(`:[1-9][0-9]*\(IDX`)

// cleaned waits until Berth has found all GPUs free of processes, so that the next job gets the first ones, as with Slurm.
func (s *side) cleaned(t *testing.T) {
	t.Helper()
	if s.name != "Berth" {
		return
	}
	waitFor(t, "all GPUs are free", func() bool {
		cmd := exec.Command(filepath.Join(filepath.Dir(s.sbatch), "sinfo"), "-h", "-N", "-O", "gresused:60")
		cmd.Env = s.env
		out, err := cmd.Output()
		return err == nil && !gpusInUse.Match(out)
	})
}

// takeNumbers has Berth give the numbers up to firstJob to jobs that never run.
func takeNumbers(t *testing.T, s *side) {
	t.Helper()
	waitFor(t, fmt.Sprintf("job %d", firstJob), func() bool {
		cmd := exec.Command(s.sbatch, "--parsable", "--hold", "--wrap=true")
		cmd.Env, cmd.Dir = s.env, t.TempDir()
		out, err := cmd.Output()
		if err != nil {
			return false
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(out)))
		return err == nil && n >= firstJob
	})
}

func compare(t *testing.T, want, got result) {
	t.Helper()
	if want.code != got.code {
		t.Errorf("sbatch --wait ends with %d, of Slurm with %d", got.code, want.code)
	}
	names := slices.Sorted(maps.Keys(want.files))
	for name := range got.files { // order-free: sorted below
		if _, both := want.files[name]; !both {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		w, isWanted := want.files[name]
		g, isThere := got.files[name]
		switch {
		case !isWanted:
			t.Errorf("file %s is there, and not with Slurm:\n%s", name, g)
		case !isThere:
			t.Errorf("file %s is not there, and with Slurm it is:\n%s", name, w)
		case w != g:
			t.Errorf("file %s differs (- Slurm, + Berth):\n%s", name, difference(w, g))
		}
	}
}

// difference lists the lines that one of two texts has and the other has not, and if there are none both texts.
func difference(want, got string) string {
	w, g := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for _, line := range w {
		if !slices.Contains(g, line) {
			fmt.Fprintf(&out, "- %s\n", line)
		}
	}
	for _, line := range g {
		if !slices.Contains(w, line) {
			fmt.Fprintf(&out, "+ %s\n", line)
		}
	}
	if out.Len() == 0 {
		return "- " + strings.Join(w, "\n- ") + "\n+ " + strings.Join(g, "\n+ ")
	}
	return out.String()
}

// normal returns the result of a script without what differs from run to run, and without the exceptions.
func (s *side) normal(i int, c *script) result {
	r, dir := s.results[i], filepath.Join(s.dir, c.name)
	files := map[string]string{}
	for name, text := range r.files { // order-free: into a map
		text = scriptPath.ReplaceAllString(strings.ReplaceAll(text, dir, "<dir>"), "<script>")
		text = withoutRaces(withoutJob(stepDaemon.ReplaceAllString(text, "slurmstepd:"), r.job))
		switch filepath.Ext(name) {
		case ".env":
			except := c.except
			if ofScript.MatchString(name) {
				except = append(slices.Clone(except), "SLURM_UMASK") // docs/slurm.md: srun alone sets the variable in Slurm 22.05
			}
			text = variables(text, except)
		case ".err":
			text = messages(text)
		}
		files[withoutJob(strings.ReplaceAll(name, hostname(), "node1"), r.job)] = text
	}
	r.files = files
	return r
}

// ofScript matches the files with the variables of a script, or of the program of salloc.
var ofScript = regexp.MustCompile(`^(batch|salloc)\b`)

// hostname returns what %N stands for on a real Slurm with two nodes on one machine.
func hostname() string {
	name, _ := os.Hostname()
	name, _, _ = strings.Cut(name, ".")
	return name
}

var number = regexp.MustCompile(`[0-9]+`)

// withoutJob replaces the job's number by <job>, and one with zeros ahead by <job:4>, where 4 is the number of digits.
func withoutJob(text, job string) string {
	return number.ReplaceAllStringFunc(text, func(n string) string {
		switch {
		case n == job:
			return "<job>"
		case n[0] == '0' && strings.TrimLeft(n, "0") == job:
			return fmt.Sprintf("<job:%d>", len(n))
		}
		return n
	})
}

// variables returns the lines of an environment without the exceptions.
func variables(text string, except []string) string {
	var kept []string
	array := strings.Contains(text, "SLURM_ARRAY_JOB_ID=")
	for line := range strings.Lines(text) {
		name, _, _ := strings.Cut(line, "=")
		if array && (name == "SLURM_JOB_ID" || name == "SLURM_JOBID") {
			line = name + "=<number of the task>\n" // docs/slurm.md: the numbers of tasks
		}
		isException := slices.ContainsFunc(exceptions(), func(e exception) bool { return e.variable == name }) || slices.Contains(except, name)
		if !isException && !strings.HasPrefix(name, "BERTH_") && line != "CUDA_VISIBLE_DEVICES=\n" { // without GPUs Berth hides all of them
			kept = append(kept, line)
		}
	}
	slices.Sort(kept)
	return strings.Join(kept, "")
}

// TestNumbersOfScripts checks that no script has a number that a job may have: the number would be taken for that of the job.
func TestNumbersOfScripts(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob("testdata/*")
	if err != nil || len(paths) == 0 {
		t.Fatalf("there are no scripts: %v", err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range number.FindAllString(string(text), -1) {
			if n, err := strconv.Atoi(word); err == nil && n >= firstJob && n <= lastJob {
				t.Errorf("%s has the number %d, which a job may have: use another", path, n)
			}
		}
	}
}
