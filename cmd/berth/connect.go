package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// defaultAddress is where a peer's API is unless somebody says otherwise.
const defaultAddress = "127.0.0.1:10000"

// connection is how a command reaches the cluster, and how it prints.
type connection struct {
	addresses []string
	output    string
}

// bind adds the flags of every command that speaks to a cluster.
func (c *connection) bind(cmd *cobra.Command) {
	cmd.Flags().StringSliceVar(&c.addresses, "address", nil,
		"API `address,...` of peers, tried in turn (default: $BERTH_ADDRESS, then ~/.config/berth/config.yaml, then "+defaultAddress+")")
}

// bindReading adds the flags of a command that reads.
func (c *connection) bindReading(cmd *cobra.Command) {
	c.bind(cmd)
	cmd.Flags().StringVarP(&c.output, "output", "o", "", "json, yaml, or a table if it is not given")
}

// dial makes the client of the cluster. Nothing is sent yet.
func (c *connection) dial() (*client.Client, error) {
	addresses, err := c.resolve()
	if err != nil {
		return nil, err
	}
	api, err := client.New(client.Options{Addresses: addresses, Token: tokenOfEnvironment(), Dial: network{}.DialContext, UserAgent: "berth/" + build.Version()})
	if err != nil {
		return nil, usage("--address: %w", err)
	}
	return api, nil
}

// resolve lists the addresses of peers: those of the flag, of the environment, of
// the user's file, or the default.
func (c *connection) resolve() ([]string, error) {
	if list := splitList(strings.Join(c.addresses, ",")); len(list) > 0 {
		return list, nil
	}
	if list := splitList(os.Getenv("BERTH_ADDRESS")); len(list) > 0 {
		return list, nil
	}
	list, err := addressesOfUser()
	if err != nil || len(list) > 0 {
		return list, err
	}
	return []string{defaultAddress}, nil
}

// userConfig is ~/.config/berth/config.yaml.
type userConfig struct {
	Address stringList `yaml:"address"`
}

// stringList is one text or several.
type stringList []string

// UnmarshalYAML reads either.
func (l *stringList) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		*l = splitList(n.Value)
		return nil
	}
	return n.Decode((*[]string)(l))
}

func addressesOfUser() ([]string, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, nil //nolint:nilerr // no home: no file of the user
	}
	path := filepath.Join(dir, "berth", "config.yaml")
	f, err := os.Open(path) //nolint:gosec // the user's own file
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	defer func() { _ = f.Close() }()
	var conf userConfig
	d := yaml.NewDecoder(f)
	d.KnownFields(true)
	if err := d.Decode(&conf); err != nil && !errors.Is(err, io.EOF) {
		return nil, usage("%s: %w; it may say, for example: address: [127.0.0.1:10000, 127.0.0.1:10001]", path, err)
	}
	return conf.Address, nil
}

func splitList(s string) (out []string) {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, strings.TrimSuffix(strings.TrimPrefix(part, "http://"), "/"))
		}
	}
	return out
}

// exitCode is what a failed command exits with: 1, or what tells more.
func exitCode(err error) int {
	if _, is := errors.AsType[*usageError](err); is {
		return exitUsage
	}
	if e, is := errors.AsType[exitError](err); is {
		return int(e)
	}
	if p, is := errors.AsType[*wire.Problem](err); is {
		switch p.Status {
		case http.StatusNotFound:
			return exitNotFound
		case http.StatusUnauthorized, http.StatusForbidden:
			return exitDenied
		case http.StatusServiceUnavailable:
			return exitUnreachable
		}
		return exitFailure
	}
	if errors.Is(err, client.ErrUnreachable) || isDialError(err) {
		return exitUnreachable
	}
	return exitFailure
}

// advise says what to do about a cluster that cannot be reached.
func advise(err error) error {
	if exitCode(err) != exitUnreachable || !errors.Is(err, client.ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%w; is the cluster up? name its peers with --address or BERTH_ADDRESS", err)
}

// notFound says that there is no such thing, as an answer of the cluster would.
func notFound(format string, args ...any) error {
	return &wire.Problem{Status: http.StatusNotFound, Code: wire.CodeNotFound, Detail: fmt.Sprintf(format, args...)}
}

func isDialError(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "dial"
}

// exitError ends the program with a job's exit code, and without a word.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("the job ended with exit code %d", int(e)) }

// reading runs a command that asks something and prints the answer.
func reading[T any](c *connection, ask func(context.Context, *client.Client) (T, error), show func(io.Writer, T) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		if err := c.checkOutput(); err != nil {
			return err
		}
		api, err := c.dial()
		if err != nil {
			return err
		}
		answer, err := ask(cmd.Context(), api)
		if err != nil {
			return err
		}
		return c.print(cmd.OutOrStdout(), answer, func(w io.Writer) error { return show(w, answer) })
	}
}
