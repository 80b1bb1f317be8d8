package main

import (
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli/daemon"
	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/image/store"
	"github.com/berth-gpu/berth/node/runner/isolate"
	"github.com/berth-gpu/berth/node/runner/process"
)

// newSupervise returns the command that agents start for each rank, and that a supervisor starts
// with --exec to become the job. It has no other use.
func newSupervise() *cobra.Command {
	exec := false
	cmd := &cobra.Command{
		Use:    "supervise FOLDER",
		Short:  "Run one rank of a job, as an agent asks for it",
		Hidden: true,
		Args:   cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			switch {
			case exec && len(args) == 0:
				return cmdline.ExitError(process.Execute())
			case !exec && len(args) == 1:
				return process.Supervise(args[0])
			}
			return cmdline.Usage("supervise takes the folder of a rank; agents start it")
		},
	}
	cmd.Flags().BoolVar(&exec, "exec", false, "become the job that descriptor 3 describes")
	return cmd
}

// ranks checks the settings for ranks against each other.
func (h *holding) ranks() {
	r := &h.Agent.Ranks
	for _, v := range []struct{ name, path string }{
		{"agent.prolog", r.Prolog}, {"agent.epilog", r.Epilog}, {"agent.checkpoint_dir", r.Checkpoints}, {"agent.image_dir", r.Images},
	} {
		if v.path != "" && !filepath.IsAbs(v.path) {
			h.refuse("%s must be an absolute path, not %q", h.At(v.name), v.path)
		}
	}
	if u := &r.Users; u.On && u.Shared && !h.Unread("agent.run_as_users") && !h.Unread("agent.shared_account") {
		h.refuse("agent.run_as_users and agent.shared_account (--run-as-users, --shared-account) exclude each other: jobs run under the accounts of their users, or all under the agent's "+
			"(%s, %s)", h.At("agent.run_as_users"), h.At("agent.shared_account"))
	}
	if u := &r.Users; !u.On && !h.Unread("agent.run_as_users") && (len(u.Accounts) > 0 || u.Mapped || u.Root) {
		h.refuse("agent.accounts, agent.mapped_only and agent.allow_root (--account, --mapped-only, --allow-root) need agent.run_as_users: true (--run-as-users)")
	}
}

// clientProgram returns the path of the program berth: next to this one, in the folder for programs of users, or in PATH. Empty: it
// is not installed.
func clientProgram() string {
	var list []string
	if self, err := os.Executable(); err == nil {
		dir := filepath.Dir(self)
		list = append(list, filepath.Join(dir, daemon.Name), filepath.Join(dir, "..", "..", "bin", daemon.Name))
	}
	if path, err := exec.LookPath(daemon.Name); err == nil {
		list = append(list, path)
	}
	for _, path := range list {
		path, err := filepath.EvalSymlinks(path)
		if err != nil || !filepath.IsAbs(path) {
			continue
		}
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// ownProgram returns the path of this program; empty: it is not known.
func ownProgram() string {
	self, err := os.Executable()
	if err != nil {
		return ""
	}
	return self
}

// rankRules returns the rules of an agent with the given data folder, its lineage and its run folder. Folders elsewhere, in which the agent
// removes what is old, get one of this agent's own: nothing else that lies there is the agent's, and another node may use the same place.
func rankRules(r *config.Ranks, data, lineage, run string) process.Rules {
	u := &r.Users
	own := func(set, usual string) string {
		if set == "" {
			return filepath.Join(data, usual)
		}
		return filepath.Join(set, "berth-"+lineage)
	}
	return process.Rules{
		PIDs: r.PIDs, Scratch: process.Scratch(r.Scratch), Checkpoints: own(r.Checkpoints, "checkpoints"),
		Hooks: process.Hooks{Prolog: r.Prolog, Epilog: r.Epilog, Limit: r.HookLimit},
		Isolate: isolate.Rules{
			On: u.On, Map: u.Accounts, Only: u.Mapped, Root: u.Root, Umask: &u.Umask, MaxOpen: u.MaxOpen,
			Hide: []string{data, run},
		},
		Client: clientProgram(), Daemon: ownProgram(), Images: own(r.Images, "images"),
	}
}

// clearer returns a function that removes what ranks have left in the node's own places: checkpoints of tasks that have no rank here, and
// images.
func clearer(rules *process.Rules, log *slog.Logger) func(live func(model.TaskKey) (bool, error), aged bool) {
	return func(live func(model.TaskKey) (bool, error), aged bool) {
		removed, err := process.ClearCheckpoints(rules.Checkpoints, live, aged, time.Now())
		if err != nil {
			log.Warn("checkpoints_not_removed", "folder", rules.Checkpoints, "err", err)
		}
		if len(removed) > 0 {
			log.Warn("checkpoints_removed", "folder", rules.Checkpoints, "tasks", removed)
		}
		store.Free(rules.Images, log)
	}
}
