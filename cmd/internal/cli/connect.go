package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/trust"
)

// Connection is how a command reaches the cluster, and how the command prints answers.
type Connection struct {
	Output string // the format of answers; empty: a table

	flags      *config.Flags
	repeated   bool // several answers follow each other, in JSON one a line
	identified bool // by the token of a login, at a cluster that asks for tokens
	stderr     func() io.Writer
}

// NewConnection returns the connection of a program that has no options for it: the cluster is that of the environment, of the
// user's file or of the user's login, and otherwise that of this machine. Warnings go to stderr.
func NewConnection(stderr io.Writer) *Connection {
	none := pflag.NewFlagSet("", pflag.ContinueOnError)
	return &Connection{flags: config.Bind(config.OfClient, none), stderr: func() io.Writer { return stderr }}
}

// Bind adds the flags of every command that connects to a cluster.
func (c *Connection) Bind(cmd *cobra.Command) {
	c.flags, c.stderr = config.Bind(config.OfClient, cmd.Flags()), cmd.ErrOrStderr
}

// BindReading adds the flags of a command that prints an answer.
func (c *Connection) BindReading(cmd *cobra.Command) {
	c.Bind(cmd)
	cmd.Flags().StringVarP(&c.Output, "output", "o", "", outputMeans)
}

// ConnectionOf returns the connection of a command whose flags are already bound.
func ConnectionOf(cmd *cobra.Command) (*Connection, error) {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	c := &Connection{flags: config.Bind(config.OfClient, own), stderr: cmd.ErrOrStderr}
	for _, name := range []string{"address", "authority", "login"} {
		if f := cmd.Flag(name); f != nil && f.Changed {
			if err := own.Set(f.Name, f.Value.String()); err != nil {
				return nil, err
			}
		}
	}
	return c, nil
}

// Dial returns a client of the cluster. Nothing is sent yet.
func (c *Connection) Dial() (*client.Client, error) {
	to, err := c.resolve()
	if err != nil {
		return nil, err
	}
	c.identified = to.identified
	api, err := client.New(client.Options{
		Addresses: to.addresses, Token: to.token, Dial: to.dial, UserAgent: "berth/" + build.Version(), Version: build.Version(), Expiring: c.expiring,
	})
	if err != nil {
		return nil, cmdline.Usage("--address: %w", err)
	}
	return api, nil
}

// Identified reports, after Dial, whether the cluster is known to take the user of the token for the user of each request, so
// that nothing has to be asked about the user.
func (c *Connection) Identified() bool { return c.identified }

// expiring warns that the token in use expires soon.
func (c *Connection) expiring(at time.Time) {
	fmt.Fprintf(c.stderr(), "berth: warning: your token expires on %s: ask an admin for another (berth token create)\n", at.Local().Format(time.DateTime))
}

// target is the cluster that a command talks to.
type target struct {
	addresses  []string
	dial       Dial
	token      string
	identified bool   // see Connection.Identified
	login      string // name of the stored cluster; empty: none
	plain      bool   // without encryption
	socket     bool   // by the socket of a peer on this machine
}

// resolve returns the cluster of the flags, of the environment, of the user's file or of the user's login, and otherwise
// that of this machine.
func (c *Connection) resolve() (*target, error) {
	source := c.flags.Source(os.Environ())
	if dir, err := os.UserConfigDir(); err == nil {
		source.File, source.Optional = filepath.Join(dir, "berth", "config.yaml"), true
	}
	settings, err := config.Load(source)
	if err != nil {
		return nil, cmdline.Usage("%w", err)
	}
	if err := settings.Skipped(); err != nil {
		fmt.Fprintf(os.Stderr, "berth: %v\n", err)
	}
	if settings.Origin("client.address").Layer == config.FromDefault {
		if to, err := ofLogin(settings); to != nil || err != nil {
			return to, err
		}
	} else if settings.Client.Login != "" {
		return nil, cmdline.Usage("%s and %s name a cluster: give one of them", settings.At("client.address"), settings.At("client.login"))
	}
	to := &target{addresses: splitList(strings.Join(settings.Client.Address, ",")), token: TokenOfEnvironment()}
	if settings.Origin("client.address").Layer == config.FromDefault && rootSocket() {
		to.addresses = []string{unixPrefix + defaultSocket}
	}
	if to.dial, err = dialOf(to.addresses, settings.Client.Authority); err != nil {
		return nil, cmdline.Usage("%s: %w", settings.At("client.authority"), err)
	}
	to.plain = settings.Client.Authority == ""
	if _, local := localSocket(to.addresses); local {
		to.socket = true
		to.addresses = []string{config.DefaultHTTP} // for the Host header
	}
	return to, nil
}

// defaultSocket is the socket of the peer that the packages install.
const defaultSocket = "/var/lib/berth/server/" + trust.LocalSocket

// rootSocket reports whether root administers the peer of this machine by its socket.
func rootSocket() bool {
	info, err := os.Stat(defaultSocket)
	return os.Geteuid() == 0 && err == nil && info.Mode().Type() == fs.ModeSocket
}

// ofLogin returns the cluster of the user's login; nil: there is none, and none was named.
func ofLogin(settings *config.Loaded) (*target, error) {
	logins, err := UserLogins()
	if err != nil {
		return nil, nil //nolint:nilnil // a user without a folder has no login
	}
	v, err := logins.Get(settings.Client.Login)
	if errors.Is(err, fs.ErrNotExist) && settings.Client.Login == "" {
		return nil, nil //nolint:nilnil // the same
	}
	if err != nil {
		return nil, cmdline.Usage("%w", err)
	}
	return v.target(logins)
}

// Dialer returns what connects to the cluster of a login.
func (v *Login) Dialer(logins *Logins) (Dial, error) {
	to, err := v.target(logins)
	if err != nil {
		return nil, err
	}
	return to.dial, nil
}

// target returns the cluster of a login.
func (v *Login) target(logins *Logins) (*target, error) {
	to := &target{addresses: v.Addresses, token: TokenOfEnvironment(), login: v.Name}
	if to.token == "" {
		to.token, to.identified = v.Token, v.Authenticates && v.Token != ""
	}
	list, err := v.authorities()
	if err != nil {
		return nil, err
	}
	if to.dial, to.plain = DialPlain, list == nil; list != nil {
		to.dial = dialKnown(trust.Known{Authorities: list, Generation: v.Generation}, func(present trust.Known) { logins.follow(v, present) })
	}
	return to, nil
}

func splitList(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(part, "http://"), "/"))
		}
	}
	return out
}

// Reading returns the body of a command that requests one answer and prints it.
func Reading[T any](c *Connection, ask func(context.Context, *client.Client) (T, error), show func(io.Writer, T) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := c.CheckOutput(); err != nil {
			return err
		}
		api, err := c.Dial()
		if err != nil {
			return err
		}
		answer, err := ask(cmd.Context(), api)
		if err != nil {
			return err
		}
		if err := c.Print(cmd.OutOrStdout(), answer, func(w io.Writer) error { return show(w, answer) }); err != nil {
			return fmt.Errorf("the cluster has carried out the request, but its answer could not be printed: %w", err)
		}
		return nil
	}
}
