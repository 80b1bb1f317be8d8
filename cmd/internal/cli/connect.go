package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client"
)

// Connection is how a command reaches the cluster, and how the command prints answers.
type Connection struct {
	Output string // the format of answers; empty: a table

	flags    *config.Flags
	repeated bool // several answers follow each other, in JSON one a line
	cmd      *cobra.Command
}

// Bind adds the flags of every command that connects to a cluster.
func (c *Connection) Bind(cmd *cobra.Command) {
	c.flags, c.cmd = config.Bind(config.OfClient, cmd.Flags()), cmd
}

// BindReading adds the flags of a command that prints an answer.
func (c *Connection) BindReading(cmd *cobra.Command) {
	c.Bind(cmd)
	cmd.Flags().StringVarP(&c.Output, "output", "o", "", outputMeans)
}

// ConnectionOf returns the connection of a command whose flags are already bound.
func ConnectionOf(cmd *cobra.Command) (*Connection, error) {
	own := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	c := &Connection{flags: config.Bind(config.OfClient, own), cmd: cmd}
	for _, name := range []string{"address", "authority"} {
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
	addresses, dial, err := c.resolve()
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Options{
		Addresses: addresses, Token: TokenOfEnvironment(), Dial: dial, UserAgent: "berth/" + build.Version(), Expiring: c.expiring,
	})
	if err != nil {
		return nil, Usage("--address: %w", err)
	}
	return api, nil
}

// expiring warns that the token in use expires soon.
func (c *Connection) expiring(at time.Time) {
	fmt.Fprintf(c.cmd.ErrOrStderr(), "berth: warning: your token expires on %s: ask an admin for another (berth token create)\n", at.Local().Format(time.DateTime))
}

// resolve returns the addresses of peers, those of the flag, of the environment, of the user's
// file, or the default, and what connects to them.
func (c *Connection) resolve() ([]string, Dial, error) {
	source := c.flags.Source(os.Environ())
	if dir, err := os.UserConfigDir(); err == nil {
		source.File, source.Optional = filepath.Join(dir, "berth", "config.yaml"), true
	}
	settings, err := config.Load(source)
	if err != nil {
		return nil, nil, Usage("%w", err)
	}
	if err := settings.Skipped(); err != nil {
		fmt.Fprintf(os.Stderr, "berth: %v\n", err)
	}
	addresses := splitList(strings.Join(settings.Client.Address, ","))
	dial, err := dialOf(addresses, settings.Client.Authority)
	if err != nil {
		return nil, nil, Usage("%s: %w", settings.At("client.authority"), err)
	}
	return addresses, dial, nil
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
func Reading[T any](c *Connection, ask func(context.Context, *client.Client) (T, error), show func(io.Writer, T) error) func(*cobra.Command, []string) error {
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
