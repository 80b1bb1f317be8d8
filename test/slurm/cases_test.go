package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// script is one of the scripts in testdata, and how sbatch is called with the script.
type script struct {
	name      string
	options   []string          // of sbatch; {dir} is the folder of the submission
	arguments []string          // of the script
	wrap      string            // the command of --wrap in place of a script
	files     map[string]string // that are there before the submission, with their text; a name that ends with / is a folder
	spread    bool              // over both nodes; all others are sent to node1
	salloc    bool              // salloc is called, with a shell that runs the script
	alone     bool              // while no other script runs, whose cores and GPUs would change what this one gets
	except    []string          // variables that are not compared
}

// scripts returns all scripts. Their text has no number from firstJob to lastJob, other than that of the job.
func scripts() []script {
	kept := map[string]string{"kept": "old\n", "step": "old\n"}
	return []script{
		{name: "one_node"},
		{name: "two_nodes", spread: true, alone: true},
		{name: "uneven", spread: true, alone: true, except: coresOfNodes()},
		{name: "cyclic", spread: true, alone: true, except: coresOfNodes()},
		{name: "cores", spread: true, alone: true},
		{name: "gpus_node", spread: true, alone: true},
		{name: "gpus_task", alone: true},
		{name: "gres", alone: true},
		{name: "gpus", alone: true},
		{name: "array"},
		{name: "array_default"},
		{name: "files", files: map[string]string{"sub/": ""}},
		{name: "missing_dir", options: []string{"-o", "{dir}/out.err"}},
		{name: "append", files: kept},
		{name: "truncate", files: kept},
		{name: "export_none"},
		{name: "export_list"},
		{name: "export_more"},
		{name: "steps", spread: true, alone: true},
		{name: "failing", spread: true, alone: true},
		{name: "signal"},
		{name: "arguments", options: []string{"-J", "given"}, arguments: []string{"a b", "", "*", "-n"}},
		{name: "python", arguments: []string{"x"}},
		{name: "notfound"},
		{name: "nointerpreter"},
		{name: "input", files: map[string]string{"given": "one\ntwo\nthree\n"}},
		{name: "warned"},
		{name: "multiprog", spread: true, alone: true},
		{name: "requeue"},
		{name: "signals"},
		{name: "orders"},
		{name: "salloc", options: []string{"-n2", "--mem=20"}, salloc: true, alone: true},
		{name: "wrap", options: []string{"--mem=50"}, wrap: `echo "$SLURM_JOB_NAME" $0; exit 6`},
	}
}

// coresOfNodes are variables that differ if not all nodes of a job have as many tasks: in Berth all have as many cores, in Slurm
// as many as their tasks need.
func coresOfNodes() []string { return []string{"SLURM_JOB_CPUS_PER_NODE", "SLURM_CPUS_ON_NODE"} }

// command returns the arguments of sbatch in a folder.
func (s *script) command(t *testing.T, dir string) []string {
	t.Helper()
	args := []string{"--wait"}
	if s.salloc {
		args = nil
	}
	if !s.spread {
		args = append(args, "--nodelist=node1")
	}
	for _, option := range s.options {
		args = append(args, strings.ReplaceAll(option, "{dir}", dir))
	}
	if s.wrap != "" {
		return append(args, "--wrap="+s.wrap)
	}
	path, err := filepath.Abs(filepath.Join("testdata", s.name+".sh"))
	if err != nil {
		t.Fatal(err)
	}
	if s.salloc {
		args = append(args, "bash")
	}
	return append(append(args, path), s.arguments...)
}

// prepare makes the folder of a run.
func (s *script) prepare(t *testing.T, dir string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range s.files { // order-free: files of a folder
		path := filepath.Join(dir, name)
		err := os.MkdirAll(filepath.Dir(path), 0o755)
		if err == nil && !strings.HasSuffix(name, "/") {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err == nil && strings.HasSuffix(name, "/") {
			err = os.MkdirAll(path, 0o755)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}
