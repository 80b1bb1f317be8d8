package fleet

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// newMode returns a command that opens, cordons or drains nodes or single GPUs.
func newMode(name string, mode model.NodeMode, short string) *cobra.Command {
	c := &cli.Connection{}
	var reason string
	cmd := &cobra.Command{
		Use:   name + " NODE[:GPU]...",
		Short: short,
		Long:  short + ".\n\nNODE:GPU is one GPU of a node, by the number that berth nodes --gpus shows, or by its UUID.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdline.Usage("%s takes nodes, or GPUs as NODE:GPU; see %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			for _, what := range args {
				done, err := setMode(cmd.Context(), api, what, &wire.SetMode{Mode: mode.String(), Reason: reason})
				if err != nil {
					return fmt.Errorf("%s: %w", what, err)
				}
				if err := tellMode(cmd.OutOrStdout(), what, done); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that berth nodes shows")
	cli.AllowEmpty(cmd.Flags(), "reason")
	return cmd
}

func newDrain() *cobra.Command {
	return newMode("drain", model.ModeDraining, "Take nodes or GPUs out of service: running jobs are stopped and return to the queue")
}

func newCordon() *cobra.Command {
	return newMode("cordon", model.ModeCordoned, "Give no new work to nodes or GPUs; running jobs continue")
}

func newUndrain() *cobra.Command {
	return newMode("undrain", model.ModeOpen, "Return drained or cordoned nodes or GPUs to service")
}

func setMode(ctx context.Context, api *client.Client, what string, body *wire.SetMode) (*wire.NodeDone, error) {
	node, gpu, one := strings.Cut(what, ":")
	if !one {
		return api.Operator().SetNodeMode(ctx, node, body)
	}
	list, err := api.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	uuid, err := findGPU(list, node, gpu)
	if err != nil {
		return nil, err
	}
	return api.Operator().SetGPUMode(ctx, uuid, body)
}

// findGPU returns the UUID of a node's GPU that is given by number or UUID.
func findGPU(list *wire.Nodes, node, gpu string) (string, error) {
	for i := range list.Nodes {
		if list.Nodes[i].ID != node {
			continue
		}
		for _, g := range list.Nodes[i].GPUs {
			if g.UUID == gpu || strconv.FormatInt(g.Index, 10) == gpu {
				return g.UUID, nil
			}
		}
		return "", cmdline.NotFound("node %s has no GPU %s; see berth nodes --gpus", node, gpu)
	}
	return "", cmdline.NotFound("there is no node %s; see berth nodes", node)
}

func tellMode(w io.Writer, what string, done *wire.NodeDone) error {
	text := done.Message
	if n := len(done.Jobs); n > 0 {
		text += fmt.Sprintf(" (%d there now: %s)", n, strings.Join(done.Jobs, ", "))
	}
	_, err := fmt.Fprintf(w, "%s: %s\n", what, text)
	return err
}

// newNode returns the commands for settings of a node.
func newNode() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Show or label a node, confirm that one is dead, adopt or kill unknown jobs there, or remove one",
		Args:  cli.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNodeShow(), newLabel(), newConfirmDead(), newForeign("adopt"), newForeign("kill"), newRetire())
	return cmd
}

func newNodeShow() *cobra.Command {
	c := &cli.Connection{}
	history := false
	cmd := &cobra.Command{
		Use:   "show NODE",
		Short: "Show a node: its host, its features and its GPUs; or the telemetry of these",
		Args:  cli.One(oneNode),
		RunE: func(cmd *cobra.Command, args []string) error {
			if history {
				ask := func(ctx context.Context, api *client.Client) (*wire.NodeHistory, error) {
					return api.Lists().GPUHistory(ctx, args[0], historySteps)
				}
				return cli.Reading(c, ask, showHistory)(cmd, args)
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Node, error) { return findNode(ctx, api, args[0]) }
			return cli.Reading(c, ask, showNode)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().BoolVar(&history, "history", false, "what its GPUs measured in the last quarter of an hour")
	return cmd
}

func findNode(ctx context.Context, api *client.Client, id string) (*wire.Node, error) {
	list, err := api.Nodes(ctx)
	if err != nil {
		return nil, err
	}
	for i := range list.Nodes {
		if list.Nodes[i].ID == id {
			return &list.Nodes[i], nil
		}
	}
	return nil, cmdline.NotFound("there is no node %s; see berth nodes", id)
}

func showNode(w io.Writer, n *wire.Node) error {
	s := &cli.Sheet{}
	s.Line("Node", "%s", n.ID)
	s.Line("State", "%s", strings.TrimSpace(n.State+" "+n.Reason))
	s.Line("Host", "%s, %d CPUs, %.0f GB", n.Hostname, n.CPUs, n.MemoryGB)
	s.Line("Without GPUs", "jobs without GPUs hold %d of %d cores and %.1f of %.1f GB", n.CPUsHeld, n.CPURoom, n.MemoryHeld, n.MemoryRoom)
	s.Line("Labels", "%s", labelsOf(n))
	s.Line("Isolation", "%s", n.Features)
	s.Line("Jobs run as", "%s", accountsOf(n))
	s.Line("Version", "%s", n.Version)
	s.Line("Epoch", "%d, registered %s, last seen %s", n.Epoch, table.Clock(n.Registered, time.Now()), table.Clock(n.LastSeen, time.Now()))
	s.Line("GPUs", "%d free of %d, %s", n.FreeGPUs, n.GPUCount, n.Health)
	if p := plans(n); p != "" {
		s.Line("Reserved", "%s", p)
	}
	s.Head("GPUs")
	if _, err := io.WriteString(w, s.String()); err != nil {
		return err
	}
	return showGPUs(w, &wire.Nodes{Nodes: []wire.Node{*n}})
}

// accountsOf returns under which accounts a node runs jobs.
func accountsOf(n *wire.Node) string {
	switch n.Accounts {
	case model.AccountsUsers.String():
		return "their users"
	case model.AccountsOwn.String():
		return n.Account + ", " + whose(n) + " (agent.shared_account)"
	}
	return strings.TrimSpace(n.Account + ", jobs of all users")
}

const confirmLong = `Confirm that an unreachable node is dead, with every process on it.

Only an operator can know that: check the machine, or switch it off first. Jobs that
wait for the node (on_lost hold) are then started again elsewhere. If the node is alive
after all, two attempts of a job may run at the same time.`

func newConfirmDead() *cobra.Command {
	c := &cli.Connection{}
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "confirm-dead NODE",
		Short: "Confirm that an unreachable node is dead, with every process on it",
		Long:  confirmLong,
		Args:  cli.One(oneNode),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return cmdline.Usage("this cannot be undone; check the machine first, then repeat the command with --yes")
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			n, err := findNode(cmd.Context(), api, args[0])
			if err != nil {
				return err
			}
			done, err := api.Operator().ConfirmDead(cmd.Context(), n.ID, &wire.ConfirmDead{Epoch: &n.Epoch, Reason: reason})
			if err != nil {
				return fmt.Errorf("node %s: %w", n.ID, err)
			}
			return tellMode(cmd.OutOrStdout(), n.ID, done)
		},
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the record")
	cli.AllowEmpty(cmd.Flags(), "reason")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that the node is dead")
	return cmd
}

func newRetire() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "retire NODE",
		Short: "Remove a node that is empty or dead",
		Args:  cli.One(oneNode),
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.Dial()
			if err != nil {
				return err
			}
			done, err := api.Operator().RetireNode(cmd.Context(), args[0])
			if err != nil {
				return fmt.Errorf("node %s: %w", args[0], err)
			}
			return tellMode(cmd.OutOrStdout(), args[0], done)
		},
	}
	c.Bind(cmd)
	return cmd
}

// oneNode describes the only argument of a command about a node.
const oneNode = "the id of one node, as berth nodes shows it"
