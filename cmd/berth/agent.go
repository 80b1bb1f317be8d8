package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/nodeapi"
	"github.com/berth-gpu/berth/node/runner/process"
)

const agentLong = `Run the agent of a GPU host: it takes jobs from the cluster and runs them.

  berth agent --node gpu1 --data-dir a1 --peers 127.0.0.1:10001,127.0.0.1:10002 --gpus sim:8

Each job runs under a supervisor of its own, which goes on when the agent ends; an
agent that is started again over the same data folder takes over what still runs.

Simulated GPUs belong to the data folder, and so does the machine that the agent
claims to be: several nodes with folders of their own can be played on one host.

SIGTERM and SIGINT end the agent and leave the jobs running.`

// agentFlags are an agent's flags as they were given.
type agentFlags struct {
	node, data, listen, run, logLevel string
	tokenFile                         string
	peers                             []string
	labels                            []string
	gpus                              gpuFlags
	ranks                             rankFlags
	keep                              keepFlags
}

func newAgent() *cobra.Command {
	f := &agentFlags{}
	cmd := &cobra.Command{
		Use:   "agent",
		Short: "Run the agent of a GPU host",
		Long:  agentLong,
		Args:  noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level, err := f.check()
			if err != nil {
				return err
			}
			return f.serve(cmd.Context(), cmd.ErrOrStderr(), level)
		},
	}
	to := cmd.Flags()
	to.SetNormalizeFunc(flagName)
	to.StringVar(&f.node, "node", "", "this node's `name` in the cluster")
	to.StringVar(&f.data, "data-dir", "", "`folder` where this agent keeps what it runs; also --data")
	to.StringSliceVar(&f.peers, "peers", nil, "API `address,...` of peers; one that answers tells the others")
	to.StringVar(&f.listen, "listen", "127.0.0.1:0", "`address` to serve output on, for the peers; port 0: any")
	to.StringVar(&f.tokenFile, "token-file", "", "`file` with the token that this agent shows to peers that ask who it is (default: $BERTH_TOKEN)")
	f.gpus.bind(to)
	to.StringArrayVar(&f.labels, "label", nil, "`KEY=VALUE` that jobs can ask for by --constraint; may repeat")
	to.StringVar(&f.run, "run-dir", node.DefaultRunDir, "`folder` in memory for what need not outlive the kernel")
	to.StringVar(&f.logLevel, "log-level", "info", "debug, info, warn or error")
	f.ranks.add(to)
	f.keep.add(to)
	return cmd
}

// check holds the flags against each other.
func (f *agentFlags) check() (level slog.Level, err error) {
	switch {
	case f.data == "":
		return level, usage("--data-dir is missing: name the folder where this agent keeps what it runs")
	case !model.Name(f.node):
		return level, usage("--node is missing or unfit: name this node in 1 to 128 bytes of text")
	case len(f.peers) == 0:
		return level, usage("--peers is missing: name the API address of at least one peer, such as %s", defaultAddress)
	}
	if err := f.gpus.check(); err != nil {
		return level, err
	}
	if _, err := nodeLabels(f.labels); err != nil {
		return level, err
	}
	if _, err := f.keep.read(); err != nil {
		return level, err
	}
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return level, usage("--log-level must be debug, info, warn or error, not %q", f.logLevel)
	}
	listen := f.listen
	if host, isAny := strings.CutSuffix(listen, ":0"); isAny {
		listen = host + ":1" // any other port is judged alike
	}
	if err := onLoopback(listen); err != nil {
		return level, usage("--listen: %w", err)
	}
	token, err := f.token()
	if err != nil {
		return level, err
	}
	for _, p := range f.peers {
		if err := onLoopback(p); err != nil && token == "" {
			return level, usage("--peers: %w; or show who this is, with --token-file", err)
		}
	}
	return level, nil
}

// serve runs the agent until the context ends.
func (f *agentFlags) serve(ctx context.Context, stderr io.Writer, level slog.Level) (err error) {
	out := newLineWriter(stderr)
	defer out.close(flushLimit)
	log := newLog(out, level)
	process.Spare()
	j, err := journal.Open(f.data)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	boot, err := process.BootID()
	if err != nil {
		return fmt.Errorf("this kernel does not say its boot id: %w", err)
	}
	machine, err := f.gpus.machine(j)
	if err != nil {
		return err
	}
	gpus, err := f.gpus.open(j.Dir(), boot, log)
	if err != nil {
		return err
	}
	run, warning, err := node.OpenRun(j, boot, f.run)
	if err != nil {
		return fmt.Errorf("--run-dir: %w", err)
	}
	if warning != "" {
		log.Warn(warning)
	}
	l, err := network{}.Listen(f.listen)
	if err != nil {
		return explainListen(f.listen, err)
	}
	rules, err := f.ranks.rules(j.Dir(), run.Path)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ranks, err := openRanks(ctx, process.Options{Run: run, Rules: rules, Devices: f.gpus.guard()}, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() {
		ranks.Close()
		node.CloseRun(run)
	}()
	keep, err := f.keep.read()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	self := f.self(l.Addr().String(), machine, boot)
	self.Features = ranks.Host().String()
	if f.gpus.simulate > 0 {
		self.Features += ", " + wire.SimulatedGPUs
	}
	return f.live(ctx, node.Config{
		Self: self, Keep: keep, Journal: j, Run: run, Runner: ranks, GPUs: gpus, Peers: f.peers, Clock: process.Now, Log: log,
	}, node.History{Node: self.Node, GPUs: gpus}, l)
}

// token is what this agent shows; empty: nothing.
func (f *agentFlags) token() (string, error) {
	if f.tokenFile == "" {
		return tokenOfEnvironment(), nil
	}
	token, err := readTokenFile(f.tokenFile)
	if err != nil {
		return "", usage("--token-file: %w", err)
	}
	return token, nil
}

// openRanks begins to run ranks, with the program for supervisors that fits.
func openRanks(ctx context.Context, o process.Options, log *slog.Logger) (*process.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program does not know where it is: %w", err)
	}
	warning := ""
	if o.Program, warning = supervisorOf(ctx, self); warning != "" {
		log.Warn(warning)
	}
	ranks, err := process.New(o)
	if err == nil {
		log.Info("what this host can do for ranks", "host", ranks.Host().String(), "supervisor", o.Program[0])
	}
	return ranks, err
}

// self is what the node calls itself.
func (f *agentFlags) self(address, machine, boot string) node.Self {
	hostname, _ := os.Hostname()      // for display
	labels, _ := nodeLabels(f.labels) // they were checked
	return node.Self{
		Node: model.NodeID(f.node), Machine: machine, Boot: boot, Hostname: hostname, Address: address,
		Version: build.Version(), CPUs: uint32(runtime.NumCPU()), MemoryMB: node.MemoryMB(), //nolint:gosec // a few
		Labels: labels.String(),
	}
}

// nodeLabels reads the labels of a node.
func nodeLabels(list []string) (model.Labels, error) {
	all, err := model.ParseLabels(strings.Join(list, ","))
	if err == nil && slices.ContainsFunc(all, func(v model.Label) bool { return v.Gone }) {
		err = model.ErrLabels
	}
	if err != nil {
		return nil, usage("--label %w", err)
	}
	return all, nil
}

// live runs agent and server side by side.
func (f *agentFlags) live(ctx context.Context, c node.Config, past node.History, l net.Listener) error {
	token, err := f.token()
	if err != nil {
		return errors.Join(err, l.Close())
	}
	calls, err := client.NewAgent(client.Options{Addresses: f.peers, Token: token, Dial: network{}.DialContext, UserAgent: "berth/" + build.Version()})
	if err != nil {
		return errors.Join(usage("--peers: %w", err), l.Close())
	}
	defer calls.Close()
	c.Cluster = calls
	server := nodeapi.New(node.Logs{Journal: c.Journal}, past, c.Log)
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		served <- server.Serve(l)
		cancel()
	}()
	c.Log.Info("agent started", "node", c.Self.Node, "listen", c.Self.Address, "data", c.Journal.Dir(), "machine", c.Self.Machine,
		"simulated_gpus", f.gpus.simulate, "peers", f.peers, "version", c.Self.Version)
	err = node.New(c).Run(ctx)
	c.Log.Info("agent stopped", "node", c.Self.Node)
	return errors.Join(err, server.Close(), <-served)
}

// explainListen is why an address cannot be listened on.
func explainListen(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: another process listens on this address; stop it, or choose another with --listen", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not listen on this port; choose one above 1023 with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: this machine has no such address; choose another with --listen", address)
	}
	return fmt.Errorf("%s: cannot be listened on: %w", address, err)
}

// keepFlags say what becomes of output.
type keepFlags struct{ most, dir string }

func (f *keepFlags) add(to *pflag.FlagSet) {
	to.StringVar(&f.most, "keep", "50G", "`GB` of this disk that the folders of ended jobs may take; beyond it the oldest lose their output; 0: no limit")
	to.StringVar(&f.dir, "log-dir", "", "absolute `folder`, best on shared storage, to copy the output of ended jobs to")
}

func (f *keepFlags) read() (node.Keep, error) {
	k := node.Keep{Dir: f.dir}
	if f.dir != "" && !filepath.IsAbs(f.dir) {
		return k, usage("--log-dir must be an absolute path, not %q", f.dir)
	}
	if f.most == "0" {
		return k, nil
	}
	gb, err := gigabytes("--keep", f.most)
	if err != nil {
		return k, err
	}
	k.Bytes = int64(*gb * 1e9)
	return k, nil
}
