package cli

import (
	"context"
	"os"
	"os/user"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// timeValue is a flag that holds a time.
type timeValue struct{ at *time.Duration }

// TimeVar binds a flag that holds a time and has a default.
func TimeVar(f *pflag.FlagSet, at *time.Duration, name string, value time.Duration, what string) {
	*at = value
	f.Var(timeValue{at}, name, what)
}

func (v timeValue) String() string { return table.Span(*v.at) }
func (v timeValue) Type() string   { return "time" }

func (v timeValue) Set(text string) (err error) {
	*v.at, err = wire.ParseDuration(text)
	return err
}

// ThisUser returns the name of the operating system's user of this program.
func ThisUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return os.Getenv("USER")
}

// OwnName returns the user that a request of this program names: none with a token, which identifies its user.
func OwnName() string {
	if HasToken() {
		return ""
	}
	return ThisUser()
}

// Me returns the user that the cluster takes this program for: the token's user if a token is used
// and authentication is on, else the operating system's user.
func Me(ctx context.Context, api *client.Client) string {
	if caller := callerOf(ctx, api); caller.Authentication {
		return caller.Name
	}
	return ThisUser()
}

// callerOf returns what the cluster knows of this program's token: nothing without a token, or if the
// cluster gives no answer; the next request returns the error then.
func callerOf(ctx context.Context, api *client.Client) wire.Whoami {
	if !HasToken() {
		return wire.Whoami{}
	}
	caller, err := client.PeopleOf(api).Whoami(ctx)
	if err != nil {
		return wire.Whoami{}
	}
	return *caller
}

// Optional returns the number of a flag if it was given, even if it is 0; nil if it was not.
func Optional(cmd *cobra.Command, flag string, n *int64) *int64 {
	if !cmd.Flags().Changed(flag) {
		return nil
	}
	return n
}

// Plural formats "1 node" or "3 nodes".
func Plural(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return strconv.FormatInt(n, 10) + " " + noun + "s"
}

// TimeFlag parses a flag that holds a time; empty text gives nil.
func TimeFlag(name, text string) (*wire.Duration, error) {
	if text == "" {
		return nil, nil
	}
	v, err := wire.ParseDuration(text)
	if err != nil {
		return nil, cmdline.Usage("%s %w", name, err)
	}
	d := wire.Duration(v)
	return &d, nil
}

// OfSeconds returns a span of time given in seconds.
func OfSeconds(seconds float64) time.Duration { return time.Duration(seconds * float64(time.Second)) }
