package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// step is a command of the quick start on one machine: "p1# berth init".
type step struct {
	machine string
	mark    string // # for root, $ for a user
	text    string
}

// prompt returns the prompt of the machine.
func (s step) prompt() string { return s.machine + s.mark }

var (
	stepLine = regexp.MustCompile(`^([a-z][a-z0-9]*)([#$]) +(\S.*)$`)
	comments = regexp.MustCompile(` {2,}# .*$`)
)

// heading is the chapter with the quick start.
const heading = "## Three machines and their GPUs"

// quickStart returns the steps of the README's chapter.
func quickStart(readme string) ([]step, error) { return stepsOf(readme, heading) }

// stepsOf returns the steps in the first block of commands of a chapter.
func stepsOf(page, heading string) ([]step, error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return nil, err
	}
	_, chapter, found := strings.Cut(string(text), "\n"+heading+"\n")
	if !found {
		return nil, fmt.Errorf("%s has no chapter %q", page, heading)
	}
	_, block, opens := strings.Cut(chapter, "\n```\n")
	block, _, closes := strings.Cut(block, "\n```\n")
	if !opens || !closes {
		return nil, fmt.Errorf("%s: the chapter %q has no block of commands", page, heading)
	}
	var steps []step
	for line := range strings.SplitSeq(block, "\n") {
		found := stepLine.FindStringSubmatch(line)
		if found == nil {
			continue // what a command prints
		}
		steps = append(steps, step{found[1], found[2], comments.ReplaceAllString(found[3], "")})
	}
	if len(steps) == 0 {
		return nil, fmt.Errorf("%s: the chapter %q has no line such as p1# berth init", page, heading)
	}
	return steps, nil
}

// bootAll starts machines by their names, with addresses.
func (l *lab) bootAll(plan map[string]string) error {
	for _, name := range slices.Sorted(maps.Keys(plan)) {
		if _, err := l.boot(name, plan[name]); err != nil {
			return err
		}
	}
	return nil
}

// machine returns a machine by its name.
func (l *lab) machine(name string) (*machine, error) {
	for _, m := range l.machines {
		if m.name == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("there is no machine %s", name)
}

// Words of the quick start that stand for what an earlier command has printed.
const (
	wordToken = "TOKEN" // the last line of the last command that printed a token
	wordPin   = "HASH"  // of the authority
)

var (
	tokens = regexp.MustCompile(`(?m)^berth[-_][A-Za-z0-9_-]+$`)
	pins   = regexp.MustCompile(`--pin ([0-9a-f]{64})`)
)

// follow carries out the steps, and passes what each has printed on.
func (l *lab) follow(ctx context.Context, steps []step, printed func(step, string)) error {
	token, pin := "", ""
	for _, s := range steps {
		m, err := l.machine(s.machine)
		if err != nil {
			return err
		}
		text := strings.ReplaceAll(s.text, wordPin, pin)
		if strings.Contains(text, wordToken) && token == "" {
			return errors.New(s.prompt() + " " + s.text + ": no token was printed before")
		}
		text = strings.ReplaceAll(text, wordToken, token)
		var out bytes.Buffer
		if err := m.shell(ctx, "", text, &out); err != nil {
			return err
		}
		if all := tokens.FindAllString(out.String(), -1); len(all) > 0 {
			token = all[len(all)-1]
		}
		if found := pins.FindStringSubmatch(out.String()); found != nil {
			pin = found[1]
		}
		printed(s, out.String())
		if strings.Contains(text, "berth join node") {
			if err := m.withoutDriver(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// withoutDriver carries out, on a machine that has joined as a node, what the quick start has for one without a driver.
func (m *machine) withoutDriver(ctx context.Context) error {
	steps, err := stepsOf(filepath.Join(m.lab.units, "..", "docs", "quickstart.md"), "### Without a driver")
	for _, s := range steps {
		err = errors.Join(err, m.shell(ctx, "", s.text, nil))
	}
	return err
}
