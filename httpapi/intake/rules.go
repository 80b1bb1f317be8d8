package intake

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/problem"
)

// maxRules bounds the patterns of a list.
const maxRules = 256

// CommandRules restrict what jobs may run, in addition to what is always refused. The zero value
// has no further restrictions.
type CommandRules struct {
	forbidden, allowed       []pattern
	forbiddenEnv, allowedEnv []pattern
	Bounds                   CommandBounds
}

// CommandBounds limits what one job asks for; 0 or empty: no limit.
type CommandBounds struct {
	Command  int           // bytes of the command, or of program and arguments
	Script   int           // bytes
	Env      int           // variables
	WorkDirs []string      // folders that work directories lie in
	GPUs     uint32        // of one task
	CPUs     uint32        // of one task, on each node
	MemoryMB uint32        // of the host, for one task
	Time     time.Duration // limit, also of a job that is extended; a job without one is refused
}

// pattern is one rule of a list.
type pattern struct {
	name, message string
	text          *regexp.Regexp
}

// Forbid refuses jobs whose command, program with arguments or script a pattern (RE2) matches
// somewhere. The refusal contains the name and the message.
func (c *CommandRules) Forbid(name, text, message string) error {
	return add(&c.forbidden, name, text, message)
}

// Allow refuses jobs that match none of the allowed patterns. A pattern must match the whole of a
// command, program with arguments, or script.
func (c *CommandRules) Allow(name, text, message string) error {
	return addWhole(&c.allowed, name, text, message)
}

// ForbidEnv refuses jobs that set an environment variable whose whole name a pattern matches.
func (c *CommandRules) ForbidEnv(name, text, message string) error {
	return addWhole(&c.forbiddenEnv, name, text, message)
}

// AllowEnv refuses jobs that set an environment variable whose whole name none of the allowed
// patterns matches.
func (c *CommandRules) AllowEnv(name, text, message string) error {
	return addWhole(&c.allowedEnv, name, text, message)
}

// addWhole adds a pattern that must match the whole of a text, including line breaks, whatever
// flags it sets.
func addWhole(to *[]pattern, name, text, message string) error {
	if _, err := regexp.Compile(text); err != nil { // half of a group would become valid when it is wrapped
		return fmt.Errorf("rule %s: %w", name, err)
	}
	return add(to, name, `\A(?:`+text+`)\z`, message)
}

func add(to *[]pattern, name, text, message string) error {
	re, err := regexp.Compile(text)
	switch {
	case !model.Name(name):
		return fmt.Errorf("rule %d has no name: give it one, without spaces", len(*to)+1)
	case err != nil:
		return fmt.Errorf("rule %s: %w", name, err)
	case !model.Text(message, model.MaxText):
		return fmt.Errorf("rule %s: its message must be at most %d bytes of text on one line", name, model.MaxText)
	case len(*to) >= maxRules:
		return fmt.Errorf("rule %s: there may be at most %d rules", name, maxRules)
	}
	*to = append(*to, pattern{name, message, re})
	return nil
}

// Check returns an error for what is not allowed in a job. No error repeats what the job runs. Of the environment of the submission,
// which no user has chosen variable by variable, Check removes what is not allowed.
func (c *CommandRules) Check(b *command.Submit) error {
	for _, check := range []func(*command.Submit) error{written, reserved, c.withinText, c.within, c.matches, c.variables} {
		if err := check(b); err != nil {
			return err
		}
	}
	return nil
}

// written returns an error if a command contains control characters, which could hide parts of it
// in a list.
func written(b *command.Submit) error {
	text := b.Spec.Command
	if b.Spec.Argv {
		text = strings.ReplaceAll(text, "\x00", "")
	}
	if i := strings.IndexFunc(text, hidden); i >= 0 {
		return problem.Invalid(programField(b), fmt.Sprintf("must hold no control character other than line breaks and tabs; the first is near byte %d", i))
	}
	if i := strings.IndexFunc(b.Script, hidden); i >= 0 {
		return problem.Invalid("script", fmt.Sprintf("must hold no control character other than line breaks and tabs; the first is at byte %d", i))
	}
	return nil
}

// hidden are control characters, and those that turn the direction of a text around
// (Trojan Source, CVE-2021-42574).
func hidden(r rune) bool {
	return unicode.IsControl(r) && r != '\n' && r != '\t' && r != '\r' || r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

func programField(b *command.Submit) string {
	if b.Spec.Argv {
		return "args"
	}
	return "command"
}

// reserved returns an error if the environment sets variables that Berth itself sets.
func reserved(b *command.Submit) error {
	for _, kv := range b.Env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case selectsGPUs(name):
			return problem.Invalid("env", name+" is set by Berth to the GPUs of the job: leave it out")
		case Own(name):
			return problem.Invalid("env", "names that begin with BERTH_ are Berth's own: choose another")
		}
	}
	return nil
}

func selectsGPUs(name string) bool {
	return name == "CUDA_VISIBLE_DEVICES" || name == "CUDA_DEVICE_ORDER" || name == "NVIDIA_VISIBLE_DEVICES"
}

// Own reports whether Berth itself sets a variable, or the variable may hold a secret of Berth's. Those by which commands find the
// cluster are the user's: a job that submits jobs needs them.
func Own(name string) bool {
	switch name {
	case "BERTH_ADDRESS", "BERTH_AUTHORITY", "BERTH_LOGIN":
		return false
	case "RESEARCH_AGENT_USER_AUTH_TOKEN": // another name of BERTH_TOKEN
		return true
	}
	return selectsGPUs(name) || strings.HasPrefix(strings.ToUpper(name), "BERTH_")
}

// withinText returns an error if a text of a job is too long.
func (c *CommandRules) withinText(b *command.Submit) error {
	for _, v := range []struct {
		field       string
		size, bound int
		what        string
	}{
		{programField(b), len(b.Spec.Command), c.Bounds.Command, "bytes"},
		{"script", len(b.Script), c.Bounds.Script, "bytes"},
		{"stdin", base64.StdEncoding.DecodedLen(len(b.Stdin)), c.Bounds.Script, "bytes"},
		{"env", len(b.Env), c.Bounds.Env, "variables"},
	} {
		if v.bound > 0 && v.size > v.bound {
			return problem.Invalid(v.field, fmt.Sprintf("must be at most %d %s here, and is %d", v.bound, v.what, v.size))
		}
	}
	return nil
}

// within returns an error if a job asks for more than it may.
func (c *CommandRules) within(b *command.Submit) error {
	s, most := &b.Spec, &c.Bounds
	switch {
	case most.GPUs > 0 && s.GPUs > most.GPUs:
		return problem.Invalid("gpu_count", fmt.Sprintf("must be at most %d here", most.GPUs))
	case most.CPUs > 0 && s.CPUs > most.CPUs:
		return problem.Invalid("cpus", fmt.Sprintf("must be at most %d here", most.CPUs))
	case most.MemoryMB > 0 && s.MemoryMB > most.MemoryMB:
		return problem.Invalid("host_memory_gb", fmt.Sprintf("must be at most %g here", float64(most.MemoryMB)/1000))
	case most.Time > 0 && (s.TimeLimit == 0 || s.TimeLimit > most.Time):
		return problem.Invalid("time_limit", "must be given here, and be at most "+most.Time.String())
	case len(most.WorkDirs) > 0 && s.WorkDir != "" && !inside(s.WorkDir, most.WorkDirs):
		return problem.Invalid("workdir", "must lie in one of: "+strings.Join(most.WorkDirs, ", "))
	}
	return nil
}

// longer returns an error if an existing job may not get another time limit.
func (c *CommandRules) longer(limit time.Duration) error {
	if most := c.Bounds.Time; most > 0 && limit > most {
		return problem.Invalid("time_limit", "must be at most "+most.String()+" here, and would be "+limit.String())
	}
	return nil
}

// inside reports whether a path lies in one of the folders, without "..".
func inside(path string, folders []string) bool {
	if strings.Contains(path+"/", "/../") {
		return false
	}
	for _, f := range folders {
		if f = strings.TrimSuffix(f, "/"); path == f || strings.HasPrefix(path, f+"/") {
			return true
		}
	}
	return false
}

// matches checks what runs against the lists. Arguments are joined by one space, since a program
// gets them unchanged.
func (c *CommandRules) matches(b *command.Submit) error {
	input, err := model.Stdin(b.Stdin) // it may be a program, as of python3 -
	if err != nil {
		return err
	}
	for _, v := range []struct{ field, text string }{
		{programField(b), strings.ReplaceAll(b.Spec.Command, "\x00", " ")}, {"script", b.Script}, {"stdin", string(input)},
	} {
		if v.text == "" {
			continue
		}
		if rule := matching(c.forbidden, v.text); rule != nil {
			return rule.refusal(v.field, "")
		}
		if len(c.allowed) > 0 && v.field != "stdin" && matching(c.allowed, v.text) == nil { // input is mostly data
			return problem.Invalid(v.field, "is not among the commands that are allowed here: "+strings.Join(ruleNames(c.allowed), ", "))
		}
	}
	return nil
}

// variables checks the names of a job's environment against the lists: the dynamic linker, shells
// and interpreters load what variables name.
func (c *CommandRules) variables(b *command.Submit) error {
	for _, kv := range b.Env {
		name, _, _ := strings.Cut(kv, "=")
		if rule := matching(c.forbiddenEnv, name); rule != nil {
			return rule.refusal("env", name)
		}
		if len(c.allowedEnv) > 0 && matching(c.allowedEnv, name) == nil {
			return problem.Invalid("env", name+" is not among the variables that are allowed here: "+strings.Join(ruleNames(c.allowedEnv), ", "))
		}
	}
	b.SubmitEnv = slices.DeleteFunc(b.SubmitEnv, func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return matching(c.forbiddenEnv, name) != nil || len(c.allowedEnv) > 0 && matching(c.allowedEnv, name) == nil
	})
	return nil
}

// matching returns the first pattern that matches a text; nil: none does.
func matching(list []pattern, text string) *pattern {
	for i := range list {
		if list[i].text.MatchString(text) {
			return &list[i]
		}
	}
	return nil
}

// ruleNames returns the names of rules.
func ruleNames(list []pattern) (out []string) {
	for _, p := range list {
		out = append(out, p.name)
	}
	return out
}

// refusal returns the error of a rule that forbids a field, or part of it.
func (p *pattern) refusal(field, what string) error {
	text := strings.TrimSpace(what + " is forbidden by the rule " + p.name)
	if p.message != "" {
		text += ": " + p.message
	}
	return problem.Invalid(field, text)
}
