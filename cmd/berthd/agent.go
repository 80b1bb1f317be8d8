package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/cluster/gossip"
	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/inspect"
	"github.com/berth-gpu/berth/cmd/internal/systemd"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/image/store"
	"github.com/berth-gpu/berth/node"
	"github.com/berth-gpu/berth/node/journal"
	"github.com/berth-gpu/berth/node/nodeapi"
	"github.com/berth-gpu/berth/node/runner"
	"github.com/berth-gpu/berth/node/runner/isolate"
	"github.com/berth-gpu/berth/node/runner/process"
	"github.com/berth-gpu/berth/trust"
)

const agentLong = `Run the agent of a GPU host, which runs the cluster's jobs on this host.

  berth agent --node gpu1 --data-dir a1 --peers 127.0.0.1:10001,127.0.0.1:10002 --gpus sim:8

The agent needs the certificate of its node in the folder "trust" of its data folder: berth cert
issue makes one. Each job runs under a supervisor of its own, which continues when the agent ends; an
agent that is started again over the same data folder takes over the running jobs.

Simulated GPUs and the machine's identity belong to the data folder: several nodes with
simulated GPUs and separate folders can run on one host.

SIGTERM and SIGINT end the agent and leave the jobs running.`

// agent is an agent's settings, checked.
type agent struct {
	config.Agent

	labels   model.Labels
	gpus     gpuSource
	settings *config.Loaded
	manager  *systemd.Manager
}

func newAgent() *cobra.Command {
	cmd := &cobra.Command{Use: "agent", Short: "Run the agent of a GPU host", Long: agentLong, Args: cli.NoArgs}
	cmd.Flags().SetNormalizeFunc(flagName)
	flags := config.Bind(config.OfAgent, cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		settings, err := load(flags)
		if err != nil {
			return err
		}
		a, err := resolveAgent(settings)
		if err != nil {
			return err
		}
		return a.serve(cmd.Context(), cmd.ErrOrStderr())
	}
	return cmd
}

// resolveAgent checks an agent's settings against each other. Its error joins a usage error for
// each contradiction.
func resolveAgent(c *config.Loaded) (*agent, error) {
	h := &holding{Loaded: c}
	a := h.agent()
	for _, p := range a.Peers {
		if err := cli.CheckAddress(p); err != nil {
			h.refuse("%s: %w", h.At("agent.peers"), err)
		}
	}
	return a, errors.Join(h.wrong...)
}

// agent returns an agent's settings.
func (h *holding) agent() *agent {
	a := &agent{Agent: h.Agent, settings: h.Loaded}
	if a.DataDir == "" && !h.open("agent.data_dir") {
		h.refuse("%s is missing: give the folder for the agent's data and jobs", h.At("agent.data_dir"))
	}
	if !model.Name(a.Node) && !h.open("agent.node") {
		h.refuse("%s is missing or not valid: give this node a name of 1 to 128 bytes of text", h.At("agent.node"))
	}
	if len(a.Peers) == 0 && !h.open("agent.peers") {
		h.refuse("%s is missing: name the API address of at least one peer, such as %s", h.At("agent.peers"), config.DefaultHTTP)
	}
	if a.Keep.Dir != "" && !filepath.IsAbs(a.Keep.Dir) {
		h.refuse("%s must be an absolute path, not %q", h.At("agent.log_dir"), a.Keep.Dir)
	}
	a.gpus = h.gpus()
	var err error
	if a.labels, err = nodeLabels(a.Agent.Labels); err != nil {
		h.refuse("%s %w", h.At("agent.labels"), err)
	}
	h.ranks()
	listen := a.Listen
	if host, isAny := strings.CutSuffix(listen, ":0"); isAny {
		listen = host + ":1" // any other port is judged the same way
	}
	h.checkGossip("agent", a.Gossip)
	check := cli.CheckOwnAddress
	if a.Advertise != "" {
		check = cli.CheckAddress
		if err := cli.CheckOwnAddress(a.Advertise); err != nil {
			h.refuse("%s: %w", h.At("agent.advertise"), err)
		}
	}
	if err := check(listen); err != nil {
		h.refuse("%s: %w", h.At("agent.listen"), err)
	}
	return a
}

// serve runs the agent until the context ends.
func (a *agent) serve(ctx context.Context, stderr io.Writer) error {
	isolate.KeepFromChildren()
	unix.Umask(ownerOnly) // supervisors set that of jobs
	debug.SetTraceback(endBySignal)
	out := newLineWriter(stderr, a.settings.Log.Format)
	defer out.close(flushLimit)
	return out.report(a.run(ctx, out))
}

// run is serve with a log.
func (a *agent) run(ctx context.Context, out *lineWriter) (err error) {
	common := reloading(ctx, a.settings, func(c *config.Loaded) error {
		_, err := resolveAgent(c)
		return err
	}, out)
	defer common.stop()
	log := common.log
	a.manager = common.manager
	a.manager.Status("opens " + a.DataDir)
	process.Spare()
	j, err := a.openJournal(log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, j.Close()) }()
	boot, err := process.BootID()
	if err != nil {
		return fmt.Errorf("the kernel's boot id cannot be read: %w", err)
	}
	gpus, err := a.gpus.open(j.Dir(), boot, log)
	if err != nil {
		return err
	}
	machine, err := a.gpus.machine(gpus)
	if err != nil {
		return err
	}
	run, err := a.openRun(j, boot, log)
	if err != nil {
		return err
	}
	l, credentials, err := a.listen()
	if err != nil {
		return err
	}
	rules := rankRules(&a.Ranks, j.Dir(), j.Lineage(), run.Path)
	rules.Isolate.Peers = inspect.PeersHere(a.settings.Config)
	ranks, err := openRanks(ctx, process.Options{
		Run: run, Rules: rules, Devices: a.gpus.guard(), Home: process.Home{Dir: j.Dir(), Lineage: j.Lineage()},
	}, log)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() {
		living := len(ranks.Survivors())
		ranks.Close()
		node.CloseRun(run, living)
	}()
	self := a.self(cmp.Or(a.Advertise, l.Addr().String()), machine, boot)
	self.Features = ranks.Host().String()
	if a.gpus.simulate > 0 {
		self.Features += ", " + wire.SimulatedGPUs
	}
	go store.KeepFree(ctx, rules.Images, log)
	return a.live(ctx, node.Config{
		Self: self, Keep: node.Keep{Bytes: a.Keep.Bytes, Dir: a.Keep.Dir}, Journal: j, Run: run, Runner: ranks, GPUs: gpus, Peers: a.Peers,
		Clock: process.Now, Log: log, Disks: []string{rules.Checkpoints, rules.Images}, Ready: ranks.Ready, Account: ranks.Account,
		Clear: clearer(&rules, log),
	}, node.History{Node: self.Node, GPUs: gpus}, l, credentials)
}

// listen opens the port for peers, by the certificate of the node.
func (a *agent) listen() (net.Listener, *trust.Credentials, error) {
	credentials, err := openCredentials(a.DataDir, trust.RoleNode, a.Node, now, nil)
	if err != nil {
		return nil, nil, err
	}
	plain, err := net.Listen("tcp", a.Listen)
	if err != nil {
		return nil, nil, explainListen(a.Listen, err)
	}
	return credentials.Listen(plain), credentials, nil
}

const ownRemedy = "set agent.run_as_users: true, for which the agent must be root, or agent.shared_account: true if all users may read what this account may"

// openJournal opens the data folder, and logs what was repaired in it.
func (a *agent) openJournal(log *slog.Logger) (*journal.Journal, error) {
	j, err := journal.OpenWith(a.DataDir, journal.Options{Lineage: process.Lineage})
	if err != nil {
		return nil, err
	}
	if closed := j.Closed(); closed != "" {
		log.Warn("data_folder_closed", "folders", closed, "why", "other users could enter them")
	}
	if restored := j.Restored(); restored != "" {
		log.Warn("a lost file of the data folder was restored", "file", restored)
	}
	return j, nil
}

// openRun opens the folder that the agent and its supervisors share until the host restarts.
func (a *agent) openRun(j *journal.Journal, boot string, log *slog.Logger) (runner.RunFolder, error) {
	run, warning, err := node.OpenRun(j, boot, a.RunDir)
	if err != nil {
		return run, fmt.Errorf("%s: %w", a.settings.At("agent.run_dir"), err)
	}
	if warning != "" {
		log.Warn(warning)
	}
	return run, nil
}

// openRanks starts the runner of ranks, with the supervisor program that matches this version.
func openRanks(ctx context.Context, o process.Options, log *slog.Logger) (*process.Runner, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("the path of this program cannot be determined: %w", err)
	}
	warning := ""
	if o.Program, warning = supervisorOf(ctx, self); warning != "" {
		log.Warn(warning)
	}
	ranks, err := process.New(o)
	if err == nil {
		log.Info("the host's features for ranks", "host", ranks.Host().String(), "supervisor", o.Program[0])
	}
	return ranks, err
}

// self returns the node's description of itself.
func (a *agent) self(address, machine, boot string) node.Self {
	hostname, _ := os.Hostname() // for display
	how, own := a.accounts()
	return node.Self{
		Accounts: how, Account: own,
		Node: model.NodeID(a.Node), Machine: machine, Boot: boot, Hostname: hostname, Address: address,
		Version: build.Version(), CPUs: uint32(runtime.NumCPU()), MemoryMB: node.MemoryMB(),
		Labels: a.labels.String(),
	}
}

// accounts returns under which accounts this agent runs jobs, and its own account.
func (a *agent) accounts() (how model.Accounts, own string) {
	uid := strconv.Itoa(os.Geteuid())
	own = "uid " + uid // the name of no user, since these have no spaces
	if u, err := user.LookupId(uid); err == nil && u.Username != "" {
		own = u.Username
	}
	switch u := &a.Ranks.Users; {
	case u.On:
		return model.AccountsUsers, own
	case u.Shared:
		return model.AccountsShared, own
	}
	return model.AccountsOwn, own
}

// nodeLabels reads the labels of a node.
func nodeLabels(list []string) (model.Labels, error) {
	all, err := model.ParseLabels(strings.Join(list, ","))
	if err == nil && slices.ContainsFunc(all, func(v model.Label) bool { return v.Gone }) {
		err = model.ErrLabels
	}
	if err != nil {
		return nil, cmdline.Usage("%w", err)
	}
	return all, nil
}

// live runs the agent and its server together until one of them ends.
func (a *agent) live(ctx context.Context, c node.Config, past node.History, l net.Listener, credentials *trust.Credentials) error {
	calls, err := client.NewAgent(client.Options{
		Addresses: a.Peers, Dial: dialPeers(credentials), UserAgent: "berth/" + build.Version(), Led: credentials.Led,
	})
	if err != nil {
		return errors.Join(cmdline.Usage("%s: %w", a.settings.At("agent.peers"), err), l.Close())
	}
	defer calls.Close()
	c.Cluster = calls
	server := nodeapi.New(nodeapi.Sources{
		Logs: node.Logs{Journal: c.Journal}, History: past, Steps: node.Steps{Journal: c.Journal},
		Records: node.Records{Journal: c.Journal},
	}, c.Log, c.Self.Address)
	served := make(chan error, 1)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heard, err := startGossip(a.Gossip, credentials, gossip.Meta{
		Kind: gossip.KindNode, ID: a.Node, APIAddr: c.Self.Address, Version: build.Version(),
	}, a.Peers, nil, c.Log)
	if err != nil {
		return errors.Join(explainGossip(a.GossipListen, err), l.Close())
	}
	if heard != nil {
		go heard.watch(ctx, func() { calls.SetHints(heard.peers()) })
	}
	go a.renew(ctx, calls, credentials, c.Log)
	go func() {
		served <- server.Serve(l)
		cancel()
	}()
	if c.Self.Accounts == model.AccountsOwn {
		c.Log.Warn("jobs of other users do not run here", "account", c.Self.Account, "remedy", ownRemedy)
	}
	c.Log.Info("agent started", "node", c.Self.Node, "listen", c.Self.Address, "data", c.Journal.Dir(), "machine", c.Self.Machine,
		"simulated_gpus", a.gpus.simulate, "peers", a.Peers, "version", c.Self.Version)
	runs := node.New(c)
	a.manager.Ready()
	unfollow := a.manager.Follow(func() string { return agentStanding(ctx, runs) })
	defer unfollow()
	keepQuiet := context.AfterFunc(ctx, func() { a.manager.Stopping("") })
	defer keepQuiet()
	err = runs.Run(ctx)
	c.Log.Info("agent stopped", "node", c.Self.Node)
	return errors.Join(err, server.Close(), <-served, heard.close())
}

// renew keeps the certificate of the node renewed until the context ends.
func (a *agent) renew(ctx context.Context, calls *client.Agent, credentials *trust.Credentials, log *slog.Logger) {
	r := &trust.Renewal{
		Dir: filepath.Join(a.DataDir, trust.Subfolder), Credentials: credentials, Sign: askSign(calls), Now: now, Log: log,
		Follow: &trust.Following{
			Newest: func() uint64 { revision, _ := calls.Trust(); return revision },
			Wake:   func() <-chan struct{} { _, moved := calls.Trust(); return moved },
			Confirm: func(ctx context.Context, revision uint64) error {
				err := calls.ConfirmTrust(ctx, revision)
				if p, is := errors.AsType[*wire.Problem](err); is && p.Code == wire.CodeNotFound {
					return fmt.Errorf("%w: %w", trust.ErrUnrecorded, err)
				}
				return err
			},
		},
		Changed: func(*trust.Material) { calls.Close() }, // those that were opened with the former certificate
	}
	r.Run(ctx)
}

// explainListen returns why an address cannot be listened on.
func explainListen(address string, err error) error {
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("%s: another process listens on this address; stop it, or choose another with agent.listen (--listen)", address)
	case errors.Is(err, syscall.EACCES):
		return fmt.Errorf("%s: this user may not listen on this port; choose one above 1023 with agent.listen (--listen)", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s: this machine has no such address; choose another with agent.listen (--listen)", address)
	}
	return fmt.Errorf("%s: cannot be listened on: %w", address, err)
}
