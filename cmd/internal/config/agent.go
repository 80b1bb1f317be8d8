package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Agent holds the settings of the agent of a GPU host.
type Agent struct {
	Node, DataDir  string
	Peers          []string // API addresses
	Listen, RunDir string
	Advertise      string // empty: Listen
	Gossip
	Labels []string // KEY=VALUE
	GPUs   GPUs
	Ranks  Ranks
	Keep   Keep
}

// GPUs is where an agent's GPUs come from, and when one counts as faulty.
type GPUs struct {
	From     string // "auto", "nvml", "none" or "sim:N"
	Simulate int    // how many; 0: see From
	Hot      int16  // °C
	Xids     map[string]string
}

// Ranks holds the settings of how ranks run on a node.
type Ranks struct {
	PIDs           uint32
	Scratch        Scratch
	Checkpoints    string
	Images         string
	Prolog, Epilog string
	HookLimit      time.Duration
	Users          Users
}

// Scratch is how much of a node's disk a rank may take. The zero Scratch sets no limit.
type Scratch struct {
	Bytes   int64
	Percent int // of the file system; with it Bytes is 0
}

// Users holds the settings of the accounts under which ranks run.
type Users struct {
	On       bool
	Shared   bool              // without On: the agent's account is for the jobs of all
	Accounts map[string]string // by user
	Mapped   bool              // only those in Accounts
	Root     bool              // an account may be root's
	Umask    uint32
	MaxOpen  uint64
}

// Keep holds the settings of how long output is kept.
type Keep struct {
	Bytes int64  // 0: no limit
	Dir   string // empty: it is not copied
}

func defaultRanks() Ranks {
	return Ranks{PIDs: 65536, Scratch: Scratch{Percent: 50}, HookLimit: time.Minute, Users: Users{Umask: 0o77}}
}

func (a *Agent) settings() []Setting {
	rows := []Setting{
		{
			Name: "agent.node", Flag: "node",
			Means: "this node's `name` in the cluster", Value: Text(&a.Node, "name"),
		},
		{
			Name: "agent.data_dir", Flag: "data-dir",
			Means: "`folder` for the agent's data and jobs; also --data", Value: Text(&a.DataDir, "folder"),
		},
		{
			Name: "agent.peers", Flag: "peers",
			Means: "API `address,...` of peers; the first answer contains the others", Value: List(&a.Peers, "addresses"),
		},
		{
			Name: "agent.listen", Flag: "listen",
			Means: "`address` to serve output on, for the peers; port 0: any", Value: Text(&a.Listen, "address"),
		},
		{
			Name: "agent.advertise", Flag: "advertise",
			Means: "`address` under which peers reach the agent (default: --listen)", Value: Text(&a.Advertise, "address"),
		},
		{
			Name: "agent.gossip", Flag: "gossip",
			Means: gossipMeans, Value: Text(&a.GossipListen, "address"),
		},
		{
			Name: "agent.advertise_gossip", Flag: "advertise-gossip",
			Means: gossipAdvertiseMeans, Value: Text(&a.GossipAdvertise, "address"),
		},
		{
			Name: "agent.labels", Flag: "label",
			Means: "`KEY=VALUE` that jobs can ask for by --constraint; may repeat", Value: List(&a.Labels, "KEY=VALUE"),
		},
		{
			Name: "agent.run_dir", Flag: "run-dir",
			Means: "`folder` in memory, for data that is not needed after a reboot", Value: Text(&a.RunDir, "folder"),
		},
		{
			Name: "agent.keep_gb", Flag: "keep",
			Means: "`GB` of this disk that the folders of ended jobs may take; beyond it the oldest lose their output; 0: no limit",
			Value: Bytes(&a.Keep.Bytes),
		},
		{
			Name: "agent.log_dir", Flag: "log-dir",
			Means: "absolute `folder`, best on shared storage, to copy the output of ended jobs to", Value: Text(&a.Keep.Dir, "folder"),
		},
	}
	rows = append(rows, a.GPUs.settings()...)
	rows = append(rows, a.Ranks.settings()...)
	rows = append(rows, a.Ranks.Users.settings()...)
	for i := range rows {
		rows[i].For = OfAgent
	}
	return rows
}

func (g *GPUs) settings() []Setting {
	return []Setting{
		{
			Name: "agent.gpus", Flag: "gpus",
			Means: "where GPUs come from: nvml (the NVIDIA driver), sim:`N`, none, or auto: nvml, and an error without a driver",
			Value: Text(&g.From, "auto, nvml, none or sim:N"),
		},
		{
			Name: "agent.simulate_gpus", Flag: "simulate-gpus",
			Means: "`number` of GPUs to simulate, 1 to 64; the same as --gpus sim:N", Value: Number(&g.Simulate, "GPUs", 0, 64),
		},
		{
			Name: "agent.gpu_hot", Flag: "gpu-hot",
			Means: "`°C` above which a GPU is degraded; 10 more quarantine it", Value: Number(&g.Hot, "°C", 1, 1000),
		},
		{
			Name: "agent.xids", Flag: "xid",
			Means: "what Xid codes mean, `CODE=CLASS,...`: ignore, application, reset, quarantine or restart",
			Value: Pairs(&g.Xids, "CODE=CLASS"),
		},
	}
}

func (r *Ranks) settings() []Setting {
	return []Setting{
		{
			Name: "agent.pids_limit", Flag: "pids-limit",
			Means: "most `processes` and threads of a job on this node, where cgroup v2 can limit them; 0: any number",
			Value: Number(&r.PIDs, "processes", 0, 1<<22),
		},
		{
			Name: "agent.scratch", Flag: "scratch",
			Means: "`GB`, or percent, of the data folder's disk that one job may take with its output, its /tmp, its working folder and " +
				"its checkpoints here; one that takes more is stopped; 0: any amount",
			Value: scratch(&r.Scratch),
		},
		{
			Name: "agent.checkpoint_dir", Flag: "checkpoint-dir",
			Means: "absolute `folder` below which this agent keeps checkpoints of jobs without one (default: checkpoints, in the data folder)",
			Value: Text(&r.Checkpoints, "folder"),
		},
		{
			Name: "agent.image_dir", Flag: "image-dir",
			Means: "absolute `folder` below which this agent keeps images that jobs run in, on a local disk; removed when the disk is full (default: images, in the data folder)",
			Value: Text(&r.Images, "folder"),
		},
		{
			Name: "agent.prolog", Flag: "prolog",
			Means: "`program` to run before each job on this node, as the agent's user; if it fails the job does not start here",
			Value: Text(&r.Prolog, "program"),
		},
		{
			Name: "agent.epilog", Flag: "epilog",
			Means: "`program` to run after each job, before its GPUs are free", Value: Text(&r.Epilog, "program"),
		},
		{
			Name: "agent.hook_limit", Flag: "hook-limit",
			Means: "time limit of each of the two programs", Value: Span(&r.HookLimit, time.Second, 24*time.Hour, false),
		},
	}
}

func (u *Users) settings() []Setting {
	return []Setting{
		{
			Name: "agent.run_as_users", Flag: "run-as-users",
			Means: "run each job under the unix account of its user, apart from others; the agent must be root", Value: Switch(&u.On),
		},
		{
			Name: "agent.shared_account", Flag: "shared-account",
			Means: "without --run-as-users: let jobs of all users run under the agent's account, where they can read its token and each " +
				"other's files; else an agent that shows a token runs those of the user of its account's name only", Value: Switch(&u.Shared),
		},
		{
			Name: "agent.accounts", Flag: "account",
			Means: "`user=account,...` for users whose account has another name", Value: Pairs(&u.Accounts, "user=account"),
		},
		{
			Name: "agent.mapped_only", Flag: "mapped-only",
			Means: "with --run-as-users: refuse users that --account does not name", Value: Switch(&u.Mapped),
		},
		{
			Name: "agent.allow_root", Flag: "allow-root",
			Means: "with --run-as-users: let an account be root's", Value: Switch(&u.Root),
		},
		{
			Name: "agent.umask", Flag: "umask",
			Means: "with --run-as-users: the jobs' `mask` of file modes, in octal", Value: mask(&u.Umask),
		},
		{
			Name: "agent.max_open_files", Flag: "max-open-files",
			Means: "with --run-as-users: `number` of open files of each process; 0: as the agent has",
			Value: Number(&u.MaxOpen, "files", 0, 1<<30),
		},
	}
}

// mask returns a value for a mask of file modes.
func mask(to *uint32) Value {
	return scalar[uint32]{to, "octal number", func(s string) (uint32, error) {
		n, err := strconv.ParseUint(strings.TrimPrefix(s, "0o"), 8, 9)
		if err != nil {
			return 0, fmt.Errorf("must be octal, such as 077, not %q", s)
		}
		return uint32(n), nil
	}, func(n uint32) string { return fmt.Sprintf("%03o", n) }}
}

// scratch returns a value for a share of a disk: "50%", or a size as [Bytes] parses it.
func scratch(to *Scratch) Value {
	return scalar[Scratch]{to, "GB or percent", func(s string) (v Scratch, err error) {
		if part, is := strings.CutSuffix(s, "%"); is {
			n, err := strconv.Atoi(part)
			if err != nil || n < 1 || n > 100 {
				return v, fmt.Errorf("must be 1%% to 100%%, or a number of GB such as 500G, not %q", s)
			}
			return Scratch{Percent: n}, nil
		}
		err = Bytes(&v.Bytes).Set([]string{s})
		return v, err
	}, func(v Scratch) string {
		if v.Percent > 0 {
			return strconv.Itoa(v.Percent) + "%"
		}
		return Bytes(&v.Bytes).Text()
	}}
}
