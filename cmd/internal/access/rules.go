package access

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// ruleFile is the file of --command-rules.
type ruleFile struct {
	Forbidden []ruleEntry `yaml:"forbidden"`
	Allowed   []ruleEntry `yaml:"allowed"`

	ForbiddenEnv []ruleEntry `yaml:"forbidden_env"`
	AllowedEnv   []ruleEntry `yaml:"allowed_env"`

	Command  int      `yaml:"max_command_bytes"`
	Script   int      `yaml:"max_script_bytes"`
	Env      int      `yaml:"max_env_variables"`
	WorkDirs []string `yaml:"workdirs"`
	GPUs     uint32   `yaml:"max_gpu_count"`
	CPUs     uint32   `yaml:"max_cpus"`
	MemoryGB float64  `yaml:"max_host_memory_gb"`
	Time     string   `yaml:"max_time_limit"`
}

// ruleEntry is one pattern.
type ruleEntry struct {
	Name    string `yaml:"name"`
	Pattern string `yaml:"pattern"`
	Message string `yaml:"message"`
}

// ReadRules reads the file of what jobs may run.
func ReadRules(path string) (rules intake.CommandRules, err error) {
	data, err := os.ReadFile(path) //nolint:gosec // a file that the operator names
	if err != nil {
		return rules, err
	}
	if rules, err = parseRules(data); err != nil {
		return rules, inFile(path, err)
	}
	return rules, nil
}

// parseRules parses a document of rules.
func parseRules(data []byte) (rules intake.CommandRules, err error) {
	var file ruleFile
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err := d.Decode(&file); err != nil && !errors.Is(err, io.EOF) {
		return rules, err
	}
	if err := lastDocument(d); err != nil {
		return rules, err
	}
	return file.rules()
}

func (f *ruleFile) rules() (rules intake.CommandRules, err error) {
	var wrong []error
	refuse := func(format string, args ...any) { wrong = append(wrong, fmt.Errorf(format, args...)) }
	for _, v := range []struct {
		name string
		list []ruleEntry
		add  func(name, text, message string) error
	}{
		{"forbidden", f.Forbidden, rules.Forbid},
		{"allowed", f.Allowed, rules.Allow},
		{"forbidden_env", f.ForbiddenEnv, rules.ForbidEnv},
		{"allowed_env", f.AllowedEnv, rules.AllowEnv},
	} {
		for _, r := range v.list {
			if err := v.add(r.Name, r.Pattern, r.Message); err != nil {
				refuse("%s: %w", v.name, err)
			}
		}
	}
	for _, dir := range f.WorkDirs {
		if !strings.HasPrefix(dir, "/") {
			refuse("workdirs: %q is no absolute path", dir)
		}
	}
	for _, b := range []struct {
		name  string
		value int
	}{{"max_command_bytes", f.Command}, {"max_script_bytes", f.Script}, {"max_env_variables", f.Env}} {
		if b.value < 0 {
			refuse("%s must be 0 (none) or more", b.name)
		}
	}
	if mb := f.MemoryGB * 1000; mb != 0 && !(mb >= 1 && mb <= math.MaxUint32) { // less than a megabyte would have no effect
		refuse("max_host_memory_gb must be 0 (none), or 0.001 to %d", math.MaxUint32/1000)
	}
	rules.Bounds = intake.CommandBounds{
		Command: f.Command, Script: f.Script, Env: f.Env, WorkDirs: f.WorkDirs, GPUs: f.GPUs, CPUs: f.CPUs, MemoryMB: uint32(f.MemoryGB * 1000),
	}
	if f.Time != "" {
		var most wire.Duration
		if err := most.UnmarshalJSON([]byte(strconv.Quote(f.Time))); err != nil || most <= 0 || time.Duration(most) > model.MaxDuration {
			refuse("max_time_limit must be a time such as 12h, not %q", f.Time)
		}
		rules.Bounds.Time = time.Duration(most)
	}
	return rules, errors.Join(wrong...)
}
