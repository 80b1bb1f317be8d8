package fleet

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

func newNodes() *cobra.Command {
	c := &cli.Connection{}
	var gpus bool
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "List the GPU hosts, or with --gpus every GPU",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			show := showNodes
			if gpus {
				show = showGPUs
			}
			ask := func(ctx context.Context, api *client.Client) (*wire.Nodes, error) { return api.Nodes(ctx) }
			return cli.Reading(c, ask, show)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.Flags().BoolVar(&gpus, "gpus", false, "every GPU with its holder and telemetry")
	return cmd
}

func showNodes(w io.Writer, n *wire.Nodes) error {
	if len(n.Nodes) == 0 {
		_, err := fmt.Fprintln(w, "No node has registered yet: start berth agent on the hosts.")
		return err
	}
	t := table.New("NODE", "STATE", ">GPUS(FREE/ALL)", "MODEL", ">CORES(FREE/ALL)", ">JOBS", "HEALTH", "LAST SEEN", "VERSION", "REASON")
	for i := range n.Nodes {
		v := &n.Nodes[i]
		t.Add(v.ID, v.State, fmt.Sprintf("%d/%d", v.FreeGPUs, v.GPUCount), v.GPUType, fmt.Sprintf("%d/%d", max(v.CPURoom-v.CPUsHeld, 0), v.CPURoom),
			strconv.FormatInt(v.Jobs, 10), v.Health,
			table.Clock(v.LastSeen, time.Now()), v.Version, joined(v.Reason, hint(v.Gossip), whose(v), plans(v)))
	}
	_, err := t.WriteTo(w)
	return err
}

// hint returns what is worth a word of what gossip says.
func hint(gossip string) string {
	if gossip == "silent" {
		return "silent in gossip"
	}
	return ""
}

// whose returns the only user whose jobs a node runs; empty: it runs those of all users.
func whose(n *wire.Node) string {
	if n.Accounts != model.AccountsOwn.String() {
		return ""
	}
	return "jobs of user " + n.Account + " only"
}

// joined joins the texts that are not empty into one line.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "; ")
}

func showGPUs(w io.Writer, n *wire.Nodes) error {
	t := table.New("NODE", ">GPU", "MODEL", ">UTIL", ">MEM GB", ">TEMP", ">POWER", "STATE", "JOB", "USER", "HEALTH")
	for i := range n.Nodes {
		for _, g := range n.Nodes[i].GPUs {
			util, mem, temp, power := "", fmt.Sprintf("-/%.0f", g.MemoryGB), "", ""
			if g.AgeSeconds != nil {
				util, mem = fmt.Sprintf("%.0f%%", g.UtilizationPercent), fmt.Sprintf("%.1f/%.0f", g.MemoryUsedGB, g.MemoryGB)
				temp, power = fmt.Sprintf("%.0f°C", g.TemperatureCelsius), fmt.Sprintf("%.0f W", g.PowerWatts)
			}
			state := g.State
			if g.Mode != "" && g.Mode != state {
				state += ", " + g.Mode
			}
			t.Add(n.Nodes[i].ID, strconv.FormatInt(g.Index, 10), g.Type, util, mem, temp, power, state, g.AllocatedTo, g.User,
				strings.Join(slices.DeleteFunc([]string{g.Health, g.Reason, g.Warning}, func(s string) bool { return s == "" }), ": "))
		}
	}
	_, err := t.WriteTo(w)
	return err
}

func newPeers() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "peers",
		Short: "List the peers and the leader",
		Args:  cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, api *client.Client) (*wire.Peers, error) { return api.Peers(ctx) }
			return cli.Reading(c, ask, showPeers)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.AddCommand(peerChange("remove", "Remove a peer from the cluster, and refuse its certificates", removePeer),
		peerChange("promote", "Give a peer a vote at once, whatever the number of votes", func(ctx context.Context, api *client.Client, id string) (*wire.Gone, error) {
			return client.MembersOf(api).PromotePeer(ctx, id)
		}),
		peerChange("transfer", "Let a peer lead", func(ctx context.Context, api *client.Client, id string) (*wire.Gone, error) {
			return client.MembersOf(api).Transfer(ctx, id)
		}))
	return cmd
}

// removePeer removes a peer. The peer that goes may be the one that was asked, and end before the answer to any of the tries has arrived:
// then the list of peers shows what has become of the request.
func removePeer(ctx context.Context, api *client.Client, id string) (*wire.Gone, error) {
	out, err := client.MembersOf(api).RemovePeer(ctx, id)
	p, refused := errors.AsType[*wire.Problem](err)
	_, cut := errors.AsType[*client.CutError](err)
	lost := refused && p.Code == wire.CodeOutcomeUnknown || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
	if !cut && !lost {
		return out, err
	}
	list, asked := api.Peers(ctx)
	switch {
	case asked != nil:
		return nil, fmt.Errorf("the answer was lost, and peer %s may be removed: look at berth peers on another machine before you repeat this (%w)", id, err)
	case slices.ContainsFunc(list.Peers, func(v wire.Peer) bool { return v.Name == id }):
		return nil, err
	}
	return &wire.Gone{Success: true, Message: "peer " + id + " is removed (the answer was lost, and berth peers does not list the peer any more)"}, nil
}

// peerChange returns a command that changes one peer.
func peerChange(verb, short string, change func(context.Context, *client.Client, string) (*wire.Gone, error)) *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: verb + " PEER", Short: short, Args: cli.One("the name of a peer, as berth peers prints it"),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(ctx context.Context, api *client.Client) (*wire.Gone, error) {
				return change(ctx, api, args[0])
			}
			return cli.Reading(c, do, func(w io.Writer, v *wire.Gone) error {
				_, err := fmt.Fprintln(w, v.Message)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	return cmd
}

// newCluster returns the commands about the cluster as a whole.
func newCluster(more ...*cobra.Command) *cobra.Command {
	c := &cli.Connection{}
	status := &cobra.Command{
		Use: "status", Short: "Show the peers, and what the loss of one more would mean", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, api *client.Client) (*wire.Peers, error) { return api.Peers(ctx) }
			return cli.Reading(c, ask, showCluster)(cmd, args)
		},
	}
	c.BindReading(status)
	return cli.Parent("cluster", "Show the state of the cluster as a whole, upgrade it, replace its keys, recover or resume it", "", append(more, status, newResume())...)
}

// backups describes the newest backup that a peer has made, and what is wrong.
func backups(list []wire.Peer) string {
	var newest *wire.Peer
	var wrong []string
	made := false
	for i := range list {
		v := &list[i]
		made = made || v.BackupEvery > 0
		if v.BackupFailure != "" {
			wrong = append(wrong, fmt.Sprintf("Peer %s could not make one: %s.", v.Name, v.BackupFailure))
		}
		if v.BackupAge != nil && (newest == nil || *v.BackupAge < *newest.BackupAge) {
			newest = v
		}
	}
	text := "No peer makes backups: set backup.dir."
	switch {
	case newest != nil:
		age := time.Duration(*newest.BackupAge * float64(time.Second))
		text = fmt.Sprintf("The newest backup is %s old, in the folder of peer %s.", table.About(age), newest.Name)
		if age.Seconds() > 2*newest.BackupEvery {
			text += " That is too old: the log of the peer says why (backup_failed)."
		}
	case made:
		text = "There is no backup yet."
	}
	return strings.Join(append([]string{text}, wrong...), " ")
}

func showCluster(w io.Writer, p *wire.Peers) error {
	lines := []string{"Cluster " + p.Cluster, safety(p), backups(p.Peers)}
	if p.Standstill {
		lines = append(lines, "No job is started, since a restore or during an import: berth cluster resume ends that after a restore.")
	}
	if _, err := fmt.Fprintf(w, "%s\n\n", strings.Join(lines, "\n")); err != nil {
		return err
	}
	return showPeers(w, p)
}

// safety says how many more peers a cluster can lose.
func safety(p *wire.Peers) string {
	waiting := len(p.Peers) - p.Voters
	text := fmt.Sprintf("%d peers, %d with a vote: ", len(p.Peers), p.Voters)
	if len(p.Peers) == 1 {
		text = fmt.Sprintf("1 peer, %d with a vote: ", p.Voters)
	}
	switch {
	case p.Tolerates < 0:
		return text + fmt.Sprintf("the cluster has stopped; it goes on once %d more of those with a vote are up.", -p.Tolerates)
	case p.Tolerates == 0 && p.Voters < 3:
		text += "the loss of one more stops the cluster. It survives losses with three peers: berth token join peer."
	case p.Tolerates == 0:
		text += "the loss of one more stops the cluster. Repair those that are down, or remove them and let others join."
	case p.Tolerates == 1:
		text += "the loss of one more costs nothing."
	default:
		text += fmt.Sprintf("the loss of %d more costs nothing.", p.Tolerates)
	}
	if waiting > 0 {
		text += fmt.Sprintf(" %d without a vote: each gets one after ten seconds, if that makes the number of votes odd (berth peers promote forces it).", waiting)
	}
	return text
}

func showPeers(w io.Writer, p *wire.Peers) error {
	t := table.New("PEER", "ROLE", "VOTE", "STATE", ">TERM", ">APPLIED", ">LAG", ">CONTACT", ">CLOCK", ">SNAPSHOT", ">DISK-FREE", ">MEMORY", "ADDRESS", "VERSION")
	for i := range p.Peers {
		v := &p.Peers[i]
		state, applied, lag, contact := "unreachable", strconv.FormatUint(v.AppliedIndex, 10), "", ""
		if v.Reachable {
			state = "up"
		}
		if v.Lag != nil {
			lag = strconv.FormatUint(*v.Lag, 10)
		}
		if v.LeaderContact != nil {
			contact = strconv.FormatFloat(*v.LeaderContact, 'f', 1, 64) + "s"
		}
		state = strings.Join(slices.DeleteFunc([]string{state, hint(v.Gossip)}, func(s string) bool { return s == "" }), ", ")
		t.Add(v.Name, v.Role, map[bool]string{true: "yes", false: "no"}[v.Voter], state, strconv.FormatUint(p.Term, 10), applied, lag, contact,
			clockOffset(v.ClockOffset),
			snapshotOf(v), diskOf(v), sizeOf(v.MemoryBytes), v.Address, v.Version)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if p.ClocksDisagree {
		if _, err := fmt.Fprintln(w, "The clocks of the peers differ by more than 2 s, without a majority that agrees: changes may be refused (clock_ahead). Repair the time synchronisation."); err != nil {
			return err
		}
	}
	if p.Leader != "" {
		return nil
	}
	_, err := fmt.Fprintln(w, "There is no leader at the moment.")
	return err
}

// snapshotOf returns the age of a peer's newest snapshot, and the size of all; empty: there is none.
func snapshotOf(v *wire.Peer) string {
	if v.SnapshotAge == nil {
		return ""
	}
	return table.Seconds(*v.SnapshotAge) + ", " + sizeOf(uint64(max(v.SnapshotBytes, 0)))
}

// diskOf returns the free space of a peer's data folder, and its part of the disk; empty: it is not known.
func diskOf(v *wire.Peer) string {
	if v.DiskTotalBytes == 0 {
		return ""
	}
	return sizeOf(v.DiskFreeBytes) + fmt.Sprintf(" (%d%%)", 100*v.DiskFreeBytes/v.DiskTotalBytes)
}

// sizeOf formats a size in bytes; empty: 0.
func sizeOf(n uint64) string {
	if n == 0 {
		return ""
	}
	return table.Bytes(float64(n))
}

// clockOffset formats a peer's wall clock minus that of the peer that answered.
func clockOffset(seconds *float64) string {
	switch {
	case seconds == nil:
		return "-"
	case math.Abs(*seconds) < 0.1:
		return "0.0s"
	case math.Abs(*seconds) < 600:
		return fmt.Sprintf("%+.1fs", *seconds)
	}
	return fmt.Sprintf("%+.0fs", *seconds)
}
