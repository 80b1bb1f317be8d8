package main

import (
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const serverLong = `Run one peer of a cluster.

Three peers found a cluster by being started with the same list:

  berth server --data-dir p1 --id p1 --listen 127.0.0.1:7001 --bootstrap p1=127.0.0.1:7001,p2=127.0.0.1:7002,p3=127.0.0.1:7003

Another peer enters it by asking any of them:

  berth server --data-dir p4 --id p4 --listen 127.0.0.1:7004 --join 127.0.0.1:7001,127.0.0.1:7002

Both flags may stay when a peer is started again. A peer that has lost its data
folder must come back under a new id with --join, never with --bootstrap: it has
forgotten whom it voted for and what it has acknowledged.

SIGTERM and SIGINT hand leadership over, if this peer leads, and end it.`

func newServer() *cobra.Command {
	f := &flags{}
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run one peer of a cluster",
		Long:  serverLong,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			o, err := f.resolve()
			if err != nil {
				return err
			}
			s := newService(o, cmd.OutOrStdout(), cmd.ErrOrStderr())
			defer s.Close()
			return s.Run(cmd.Context())
		},
	}
	to := cmd.Flags()
	to.SetNormalizeFunc(flagName)
	to.StringVar(&f.data, "data-dir", "", "`folder` where this peer keeps its log and snapshots; also --data")
	to.StringVar(&f.id, "id", "", "this peer's `name`, for ever")
	to.StringVar(&f.listen, "listen", "127.0.0.1:7000", "`address` to listen on for other peers")
	to.StringVar(&f.http, "http", defaultHTTP, "`address` of the HTTP API")
	to.StringVar(&f.advertise, "advertise", "", "`address` under which other peers reach this one (default: --listen)")
	to.StringSliceVar(&f.bootstrap, "bootstrap", nil, "found a cluster of these peers: `id=address,...`")
	to.StringSliceVar(&f.join, "join", nil, "enter the cluster of the peers at these `address,...`")
	to.StringVar(&f.cluster, "cluster", "", "the cluster's `id` (default: derived from the founders, or learnt by joining)")
	to.StringVar(&f.timeouts, "raft-timeouts", "lan", "lan or wan, by how far apart the peers are")
	to.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	to.DurationVar(&f.api.idleStop, "idle-stop", 0, "cancel jobs that do not say otherwise once all their GPUs were at 0 % for so `long`; 0: never; the same at all peers")
	to.BoolVar(&f.api.auth, "auth", false, "ask callers of the API who they are, from now on and for ever; the same at all peers")
	to.StringVar(&f.api.authKeys, "auth-keys", "", "`file` of keys that are known beside tokens (YAML: header_name, api_keys); the same at all peers")
	to.Float64Var(&f.api.rate, "rate-limit", 100, "where callers are asked who they are: `requests` that one may make a second, and an address four times as many; 0: any")
	to.StringVar(&f.api.commandRules, "command-rules", "", "`file` of rules for the commands of jobs (YAML); the same at all peers")
	f.api.advice.bind(to)
	to.StringVar(&f.api.audit.Dir, "audit-dir", "", "`folder` that gets every record of the audit trail as a line of JSON; empty: none does")
	to.Int64Var(&f.api.auditSize, "audit-size", 64, "`MiB` of one of its files, after which the next is begun")
	to.IntVar(&f.api.audit.Keep, "audit-keep", 16, "how `many` of its files are kept besides the one that is written")
	to.Uint64Var(&f.minFree, "min-free", 0, "`MiB` that must be free to start (default: 512)")
	return cmd
}

// flagName lets names be written with _ for -, and --data for --data-dir.
func flagName(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if name = strings.ReplaceAll(name, "_", "-"); name == "data" {
		name = "data-dir"
	}
	return pflag.NormalizedName(name)
}
