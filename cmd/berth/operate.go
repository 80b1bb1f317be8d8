package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// newMode returns a command that opens, cordons or drains nodes or single GPUs.
func newMode(name string, mode model.NodeMode, short string) *cobra.Command {
	c := &connection{}
	var reason string
	cmd := &cobra.Command{
		Use:   name + " NODE[:GPU]...",
		Short: short,
		Long:  short + ".\n\nNODE:GPU is one GPU of a node, by the number that berth nodes --gpus shows, or by its UUID.",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usage("%s takes nodes, or GPUs as NODE:GPU; see %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			api, err := c.dial()
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
	c.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` that berth nodes shows")
	allowEmpty(cmd.Flags(), "reason")
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
		return "", notFound("node %s has no GPU %s; see berth nodes --gpus", node, gpu)
	}
	return "", notFound("there is no node %s; see berth nodes", node)
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
		Short: "Show or label a node, confirm that an unreachable one is dead, or remove one",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newNodeShow(), newLabel(), newConfirmDead(), newRetire())
	return cmd
}

func newNodeShow() *cobra.Command {
	c := &connection{}
	history := false
	cmd := &cobra.Command{
		Use:   "show NODE",
		Short: "Show a node: its host, its features and its GPUs; or the telemetry of these",
		Args:  oneNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if history {
				ask := func(ctx context.Context, api *client.Client) (*wire.NodeHistory, error) {
					return api.Lists().GPUHistory(ctx, args[0], historySteps)
				}
				return reading(c, ask, showHistory)(cmd, args)
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Node, error) { return findNode(ctx, api, args[0]) }
			return reading(c, ask, showNode)(cmd, args)
		},
	}
	c.bindReading(cmd)
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
	return nil, notFound("there is no node %s; see berth nodes", id)
}

func showNode(w io.Writer, n *wire.Node) error {
	s := &sheet{}
	s.line("Node", "%s", n.ID)
	s.line("State", "%s", strings.TrimSpace(n.State+" "+n.Reason))
	s.line("Host", "%s, %d CPUs, %.0f GB", n.Hostname, n.CPUs, n.MemoryGB)
	s.line("Labels", "%s", labelsOf(n))
	s.line("Isolation", "%s", n.Features)
	s.line("Jobs run as", "%s", accountsOf(n))
	s.line("Version", "%s", n.Version)
	s.line("Epoch", "%d, registered %s, last seen %s", n.Epoch, table.Clock(n.Registered, time.Now()), table.Clock(n.LastSeen, time.Now()))
	s.line("GPUs", "%d free of %d, %s", n.FreeGPUs, n.GPUCount, n.Health)
	if p := plans(n); p != "" {
		s.line("Reserved", "%s", p)
	}
	s.head("GPUs")
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
	c := &connection{}
	var reason string
	var yes bool
	cmd := &cobra.Command{
		Use:   "confirm-dead NODE",
		Short: "Confirm that an unreachable node is dead, with every process on it",
		Long:  confirmLong,
		Args:  oneNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !yes {
				return usage("this cannot be undone; check the machine first, then repeat the command with --yes")
			}
			api, err := c.dial()
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
	c.bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the record")
	allowEmpty(cmd.Flags(), "reason")
	cmd.Flags().BoolVar(&yes, "yes", false, "confirm that the node is dead")
	return cmd
}

func newRetire() *cobra.Command {
	c := &connection{}
	cmd := &cobra.Command{
		Use:   "retire NODE",
		Short: "Remove a node that is empty or dead",
		Args:  oneNode,
		RunE: func(cmd *cobra.Command, args []string) error {
			api, err := c.dial()
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
	c.bind(cmd)
	return cmd
}

// oneNode accepts exactly one argument, a node's id.
func oneNode(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage("%s takes the id of one node; see berth nodes", cmd.CommandPath())
	}
	return nil
}
