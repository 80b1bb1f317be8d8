// Package watch is the programs that show and change what a cluster does under the names and in the forms of Slurm: squeue, sinfo,
// sacct, sacctmgr, sshare, scancel and scontrol. What other programs read of them is as Slurm prints it; docs/slurm.md says what differs.
package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/slurm/cli/host"
	"github.com/berth-gpu/berth/slurm/format"
	"github.com/berth-gpu/berth/slurm/option"
)

// clusterName is the name of the cluster in Slurm's forms.
const clusterName = "berth"

// program is one run of a program.
type program struct {
	host   *host.Host
	name   string
	out    io.Writer
	errs   io.Writer
	ctx    context.Context //nolint:containedctx // of one run
	now    time.Time
	users  accounts
	client *client.Client // nil: nothing was asked yet
}

func newProgram(h *host.Host, name string, stdout, stderr io.Writer) *program {
	return &program{host: h, name: name, out: stdout, errs: stderr, ctx: context.Background(), now: time.Now(), users: accounts{}}
}

// invalid is the error of a request that Slurm answers with its own words in place of the program's name.
type invalid struct{ text string }

func (e *invalid) Error() string { return e.text }

// fail prints an error and returns the exit code.
func (p *program) fail(err error) int {
	if e, is := errors.AsType[*invalid](err); is {
		fmt.Fprintln(p.errs, e.text)
		return 1
	}
	if e, is := errors.AsType[*format.Error](err); is { // which names the program itself
		err = errors.New(e.Problem)
	}
	fmt.Fprintf(p.errs, "%s: error: %s\n", p.name, cmdline.OneLine(err))
	return 1
}

// refused returns the error of a request of the API. Those for which Slurm has words of its own begin with them.
func refused(call string, err error) error {
	if cmdline.ExitCode(err) == cmdline.ExitUnreachable {
		return &invalid{fmt.Sprintf("%s error: Unable to contact slurm controller (connect failure): %s", call, cmdline.OneLine(cmdline.Advise(err)))}
	}
	if p, is := errors.AsType[*wire.Problem](err); is && p.Code == wire.CodeUnauthenticated {
		return &invalid{fmt.Sprintf("%s error: Invalid user id: %s", call, cmdline.OneLine(err))}
	}
	return err
}

// missing reports whether a request failed because its object does not exist.
func missing(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Code == wire.CodeNotFound
}

// api returns the client of the cluster.
func (p *program) api() (*client.Client, error) {
	if p.client != nil {
		return p.client, nil
	}
	api, err := p.host.Dial(p.errs)
	if err != nil {
		return nil, err
	}
	p.client = api
	return api, nil
}

// common are the options that every program has.
func common() []option.Option {
	return []option.Option{
		{Name: "help"},
		{Name: "usage"},
		{Name: "version", Short: 'V'},
		{Name: "verbose", Short: 'v'},
		{Name: "quiet", Short: 'Q'},
		{Name: "clusters", Others: []string{"cluster"}, Short: 'M', Takes: option.TakesValue, Form: "NAME"},
		{Name: "local"},
		{Name: "federation"},
		{Name: "noconvert"},
	}
}

// parse reads the command line. It reports whether the program has already done what it was called for, and then the exit code.
func (p *program) parse(args []string, options []option.Option) (line option.Line, code int, done bool) {
	line, err := option.NewSet(p.name, options).Parse(args)
	if err != nil {
		fmt.Fprintf(p.errs, "%s: %s\nTry \"%s --help\" for more information\n", p.name, cmdline.OneLine(err), p.name)
		return line, 1, true
	}
	switch {
	case line.Has("help"), line.Has("usage"):
		_, _ = io.WriteString(p.out, help(p.name, options))
		return line, 0, true
	case line.Has("version"):
		fmt.Fprintln(p.out, p.host.Slurm())
		return line, 0, true
	}
	if name, given := line.Last("clusters"); given {
		for part := range strings.SplitSeq(name, ",") {
			if part != "all" && part != clusterName {
				return line, p.fail(fmt.Errorf("--clusters: %q is no cluster that this program reaches: it is %q; leave the option out", part, clusterName)), true
			}
		}
	}
	return line, 0, false
}

// carryOut reads the command line, does what the program was called for, and returns the exit code.
func (p *program) carryOut(args []string, options []option.Option, act func(*option.Line) error) int {
	line, code, done := p.parse(args, options)
	if done {
		return code
	}
	if err := act(&line); err != nil {
		return p.fail(err)
	}
	return 0
}

// help returns the options of a program.
func help(name string, options []option.Option) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: %s [OPTIONS]\n", name)
	for i := range options {
		o := &options[i]
		text := "     " + o.Spelling()
		if o.Short != 0 && len(o.Name) > 1 {
			text = "  -" + string(rune(o.Short)) + ", " + o.Spelling()
		}
		switch {
		case o.Takes == option.TakesValue && len(o.Name) > 1:
			text += "=" + o.Form
		case o.Takes == option.TakesOptional:
			text += "[=" + o.Form + "]"
		}
		b.WriteString(text + "\n")
	}
	b.WriteString("docs/slurm.md says what they do\n")
	return b.String()
}

// either returns the value of an option, else that of a variable.
func either(line *option.Line, name, variable string) (string, bool) {
	if value, given := line.Last(name); given {
		return value, true
	}
	value := os.Getenv(variable)
	return value, value != ""
}

// listOf returns the words of all values of an option that commas join, else those of a variable. Words are not empty.
func listOf(line *option.Line, name, variable string) (words []string) {
	values := line.All(name)
	if value := os.Getenv(variable); len(values) == 0 && variable != "" && value != "" {
		values = []string{value}
	}
	for _, value := range values {
		for word := range strings.SplitSeq(value, ",") {
			if word = strings.TrimSpace(word); word != "" {
				words = append(words, word)
			}
		}
	}
	return words
}
