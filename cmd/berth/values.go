package main

import (
	"context"
	"fmt"
	"os"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// timeValue is a flag that holds a time.
type timeValue struct{ at *time.Duration }

// timeVar binds a flag that holds a time and has a default.
func timeVar(f *pflag.FlagSet, at *time.Duration, name string, value time.Duration, what string) {
	*at = value
	f.Var(timeValue{at}, name, what)
}

func (v timeValue) String() string { return table.Span(*v.at) }
func (v timeValue) Type() string   { return "time" }

func (v timeValue) Set(text string) (err error) {
	*v.at, err = wire.ParseDuration(text)
	return err
}

// fillWarning parses "USR1@300", or Slurm's "B:USR1@300".
func (s *submission) fillWarning(r *wire.Submit) error {
	if s.warn == "" {
		return nil
	}
	name, before, timed := strings.Cut(strings.TrimPrefix(s.warn, "B:"), "@")
	r.WarnSignal = name
	if !timed {
		return nil
	}
	v, err := wire.ParseDuration(before)
	if err != nil {
		return usage("--signal %s: the time after @ %w", s.warn, err)
	}
	d := wire.Duration(v)
	r.WarnBefore = &d
	return nil
}

func (s *submission) fillEnv(r *wire.Submit) error {
	for _, e := range s.env {
		name, value, given := strings.Cut(e, "=")
		if !given {
			var found bool
			if value, found = os.LookupEnv(name); !found {
				return usage("--env %s: this shell has no such variable; give it a value", name)
			}
			if err := utf8Text(value); err != nil {
				return usage("--env %s: this shell's value %w", name, err)
			}
		}
		if r.Env == nil {
			r.Env = map[string]string{}
		}
		r.Env[name] = value
	}
	return nil
}

// thisUser returns the name of the operating system's user of this program.
func thisUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}

// me returns the user that the cluster takes this program for: the token's user if a token is used
// and authentication is on, else the operating system's user.
func me(ctx context.Context, api *client.Client) string {
	if caller := callerOf(ctx, api); caller.Authentication {
		return caller.Name
	}
	return thisUser()
}

// callerOf returns what the cluster knows of this program's token: nothing without a token, or if the
// cluster gives no answer; the next request returns the error then.
func callerOf(ctx context.Context, api *client.Client) wire.Whoami {
	if tokenOfEnvironment() == "" {
		return wire.Whoami{}
	}
	caller, err := client.PeopleOf(api).Whoami(ctx)
	if err != nil {
		return wire.Whoami{}
	}
	return *caller
}

// optional returns the number of a flag if it was given, even if it is 0; nil if it was not.
func optional(cmd *cobra.Command, flag string, n *int64) *int64 {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return n
}

// gigabytes parses "80", "80G" or "80GB".
func gigabytes(flag, text string) (*float64, error) {
	if text == "" {
		return nil, nil
	}
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(text), "B"), "G")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if err != nil || v <= 0 {
		return nil, usage("%s must be a number of GB, not %q", flag, text)
	}
	return &v, nil
}

// parsePriority parses a class by name or number.
func parsePriority(text string) (int64, error) {
	for c := model.ClassLow; c <= model.ClassCritical; c++ {
		if strings.EqualFold(text, c.String()) {
			return int64(c), nil
		}
	}
	n, err := strconv.ParseInt(text, 10, 8)
	if err != nil {
		return 0, fmt.Errorf("must be low, normal, high, critical or a number, not %q", text)
	}
	return n, nil
}

// shellJoin quotes words for a shell.
func shellJoin(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
	}
	return strings.Join(quoted, " ")
}

// plural formats "1 node" or "3 nodes".
func plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}
