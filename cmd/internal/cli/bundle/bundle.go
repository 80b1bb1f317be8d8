// Package bundle holds the command berth support-bundle, which collects what is needed to find a fault from afar, and no secrets.
package bundle

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/redact"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const long = `Collect what is needed to find a fault from afar, as one file: versions, the report of berth doctor,
settings without secrets, what the cluster shows of itself, the end of the logs, and facts about
this machine. What cannot be collected is listed in manifest.json with the reason, and the rest is
there, also while the cluster is down.

Scripts, environments and commands of jobs, tokens, keys and contents of data folders are not
collected, and what looks like a secret is removed from all texts. Names of machines, users and
projects, and addresses, are in the file. Look at it before you send it:

  tar -xzf FILE`

// Part is one file of a bundle.
type Part struct {
	Name string // of the file
	What string // what it holds
	// Collect returns the text. An error keeps the part out, and is listed in the manifest.
	Collect func(ctx context.Context) (string, error)
	Raw     bool // the content is no text, and has nothing that could be a secret
}

// Collection is the parts of a role, and secrets of this machine that no part may hold.
type Collection struct {
	Parts   []Part
	Secrets []string
	Units   []string // of systemd, whose journal is collected
}

// Program is what a program contributes to the command.
type Program struct {
	examine.Program

	// Collect returns what there is to collect on a peer or a node; nil: the program has no code of them.
	Collect func(at *examine.Place) Collection
}

// request is what the command is asked for.
type request struct {
	to    string
	logs  []string
	lines int
}

// New returns the command.
func New(p Program) *cobra.Command {
	c, find, q := &cli.Connection{}, &examine.Finder{}, &request{}
	cmd := &cobra.Command{
		Use: "support-bundle", Short: "Collect what is needed to find a fault, without secrets, as one file", Long: long, Args: cli.NoArgs,
		Example: "  sudo berth support-bundle\n  sudo berth support-bundle -o /tmp/p1.tar.gz\n  sudo berth support-bundle --log /var/log/berth.log -o - > p1.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			at, err := find.Find()
			if err != nil {
				return err
			}
			if q.lines < 0 || q.lines > mostLines {
				return cmdline.Usage("--lines must be 0 to %d, not %d", mostLines, q.lines)
			}
			if !at.Client() && p.Members == nil {
				return p.Become()
			}
			return q.write(cmd.Context(), cmd, c, at, &p)
		},
	}
	c.Bind(cmd)
	find.Bind(cmd)
	cmd.Flags().StringVarP(&q.to, "output", "o", "", "`file` to write, which must not exist yet; -: standard output (default: berth-support-HOST-TIME.tar.gz in this folder)")
	cmd.Flags().StringArrayVar(&q.logs, "log", nil, "`file` of a log, whose last lines are collected; may repeat")
	cmd.Flags().IntVar(&q.lines, "lines", usualLines, "`number` of last lines of each log")
	return cmd
}

// write collects, and writes the file.
func (q *request) write(ctx context.Context, cmd *cobra.Command, c *cli.Connection, at *examine.Place, p *Program) (err error) {
	now := time.Now().UTC()
	host, _ := os.Hostname() // for display
	name := "berth-support-" + safe(host) + "-" + now.Format("20060102T150405Z")
	out, said, to := cmd.OutOrStdout(), cmd.OutOrStdout(), q.to
	if to == "-" {
		said = cmd.ErrOrStderr()
	} else {
		if to == "" {
			to = name + ".tar.gz"
		}
		f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // the file that the caller names
		if errors.Is(err, os.ErrExist) {
			return cmdline.Usage("%s exists already: name another file with -o, or remove it", to)
		}
		if err != nil {
			return err
		}
		defer func() {
			if err = errors.Join(err, f.Close()); err != nil {
				err = errors.Join(err, os.Remove(to)) // half a file misleads
			}
		}()
		out = f
	}
	a := newArchive(out, name, host, now)
	collect(ctx, a, q, c, at, p)
	if err := a.close(); err != nil {
		return err
	}
	return a.say(said, to)
}

// collect adds all parts.
func collect(ctx context.Context, a *archive, q *request, c *cli.Connection, at *examine.Place, p *Program) {
	a.filter.Know(cli.TokenOfEnvironment(), c.Secret())
	own := Collection{}
	if p.Collect != nil && !at.Client() {
		own = p.Collect(at)
		a.filter.Know(own.Secrets...)
	}
	report := Part{Name: "doctor.json", What: "the report of berth doctor", Collect: func(ctx context.Context) (string, error) {
		return document(examine.Report(ctx, c, at, p.Members))
	}}
	for _, list := range [][]Part{{versions(), report}, own.Parts, clusterParts(c), systemParts(), journalParts(own.Units, q)} {
		for _, part := range list {
			a.add(ctx, part)
		}
	}
	for what, why := range neverCollected() { // order-free: the manifest sorts
		a.leave(what, why)
	}
}

// neverCollected returns what is left out on purpose, and why.
func neverCollected() map[string]string {
	return map[string]string{
		"jobs":         "scripts, commands, environments and output of jobs are users' own: counts are in cluster/statistics.json",
		"data folders": "what the files of the state, of trust and of jobs hold is private; names, sizes and modes are in files-*.txt",
		"audit trail":  "it holds what users have done: berth audit shows it to operators",
		"webhooks":     "their addresses and keys let others act in their place; berth webhook list shows them to their owners",
		"stacks":       "agents have no path that shows their goroutines, as peers have; systemd's watchdog writes them into the journal when one hangs",
	}
}

// say prints what is in the file.
func (a *archive) say(w io.Writer, to string) error {
	t := table.New("FILE", ">BYTES", "CONTENT")
	for _, f := range a.manifest.Files {
		t.Add(f.Name, fmt.Sprint(f.Bytes), f.What)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	for _, l := range a.manifest.Left {
		fmt.Fprintf(w, "left out: %s: %s\n", table.Clean(l.What), table.Clean(l.Why))
	}
	where := "It was written to standard output."
	if to != "-" {
		where = "It is in " + to + ", readable by you only."
	}
	_, err := fmt.Fprintf(w, "\n%s What looks like a secret was removed; names and addresses are still there.\nLook at it before you send it: tar -xzf %s\n", where, to)
	return err
}

// safe returns the name of a host for the name of a file.
func safe(host string) string {
	out := []rune{}
	for _, r := range host {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '.' {
			out = append(out, r)
		}
	}
	if len(out) == 0 {
		return "host"
	}
	return string(out)
}

// newFilter returns the filter through which every text of a bundle passes.
func newFilter() *redact.Filter { return &redact.Filter{} }
