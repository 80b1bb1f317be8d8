package main

import (
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

const serverLong = `Run one peer of a cluster.

A peer needs a certificate of its cluster in the folder "trust" of its data folder: berth init
makes the first, berth cert issue those of others. Three peers found a cluster by being started
with the same list:

  berth server --data-dir p1 --id p1 --listen 127.0.0.1:7001 --bootstrap p1=127.0.0.1:7001,p2=127.0.0.1:7002,p3=127.0.0.1:7003

Another peer joins the cluster through any of them:

  berth server --data-dir p4 --id p4 --listen 127.0.0.1:7004 --join 127.0.0.1:7001,127.0.0.1:7002

Founding waits until every peer of the list has answered; GET /readyz and the log say
which one is missing. Both flags may stay when a peer is started again.

A peer is identified by its id and its data folder. A peer that has lost its folder has
lost its votes and the entries that it acknowledged: it is always refused under its old
id. Start it with an empty folder, a new --id and --join.

Every flag can also be given in a file (--config) or in the environment; berth config
explain NAME shows how. Settings of the whole cluster, such as --idle-stop, take effect
when the cluster is founded, and are changed by berth config set from then on.

SIGTERM and SIGINT hand over leadership, if this peer leads, and end the peer. SIGHUP
reads the file again and takes over settings that can change while the peer runs.`

func newServer() *cobra.Command {
	cmd := &cobra.Command{Use: "server", Short: "Run one peer of a cluster", Long: serverLong, Args: cli.NoArgs}
	cmd.Flags().SetNormalizeFunc(flagName)
	flags := config.Bind(config.OfServer, cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := load(flags)
		if err != nil {
			return err
		}
		o, err := resolve(settings)
		if err != nil {
			return err
		}
		s := newService(o, settings, cmd.OutOrStdout(), cmd.ErrOrStderr())
		defer s.Close()
		return s.Run(cmd.Context())
	}
	return cmd
}

// load reads the settings of a program.
func load(flags *config.Flags) (*config.Loaded, error) {
	settings, err := config.Load(flags.Source(os.Environ()))
	if err != nil {
		return nil, cmdline.Usage("%w", err)
	}
	return settings, nil
}

// flagName accepts _ for - in names, and --data for --data-dir.
func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name = strings.ReplaceAll(name, "_", "-"); name == "data" {
		name = "data-dir"
	}
	return pflag.NormalizedName(name)
}
