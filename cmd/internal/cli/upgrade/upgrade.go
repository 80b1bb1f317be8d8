// Package upgrade holds the commands about upgrades of a cluster that keeps running.
package upgrade

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/build"
	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const long = `Upgrade a cluster that keeps running, one machine after the other: peers that follow first, the
leader last, then agents. Jobs go on.

The cluster uses what is new, its feature level rises, 24 hours after the last peer was upgraded
(server.level_hold), or at once by berth cluster upgrade finalize. Until then each peer can go back
to the version before. Peers may be one minor release apart, agents and peers two.`

// New returns the commands.
func New() *cobra.Command {
	return cli.Parent("upgrade", "Upgrade a cluster that keeps running", long, newCheck(), newFinalize(), newRestart())
}

func newCheck() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: "check", Short: "Show which members are to be upgraded, and whether the feature level is held", Args: cli.NoArgs,
		Long: "Show which members are to be upgraded next, what may be restarted or go back now, and until when the feature level is held. " +
			"The exit code is 1 if the programs of members are too far apart.",
		RunE: func(cmd *cobra.Command, args []string) error {
			var broken []string
			err := cli.Reading(c, func(ctx context.Context, api *client.Client) (*wire.Upgrade, error) {
				u, err := client.MembersOf(api).Upgrade(ctx)
				switch {
				case err == nil:
					broken = u.Broken
				case unknownPath(err):
					return nil, olderPeers(ctx, api)
				}
				return u, err
			}, show)(cmd, args)
			if err == nil && len(broken) > 0 {
				err = errors.New(strings.Join(broken, "; "))
			}
			return err
		},
	}
	c.BindReading(cmd)
	return cmd
}

// olderPeers returns the error of a check that the peer that was asked does not know, with the versions.
func olderPeers(ctx context.Context, api *client.Client) error {
	list, err := api.Peers(ctx)
	if err != nil {
		return err
	}
	run := make([]string, len(list.Peers))
	for i := range list.Peers {
		run[i] = list.Peers[i].Name + " " + cmp.Or(list.Peers[i].Version, "(unknown)")
	}
	return fmt.Errorf("a peer runs an older version, without this check: this program is %s, and the peers run %s; upgrade them one after the other, and wait for berth cluster status between them",
		build.Version(), strings.Join(run, ", "))
}

func newFinalize() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use: "finalize", Short: "Raise the feature level now: from then on no peer can go back", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			do := func(ctx context.Context, api *client.Client) (*wire.Gone, error) {
				return client.MembersOf(api).Finalize(ctx)
			}
			return cli.Reading(c, do, func(w io.Writer, v *wire.Gone) error {
				_, err := fmt.Fprintln(w, v.Message)
				return err
			})(cmd, args)
		},
	}
	c.BindReading(cmd)
	return cmd
}

func show(w io.Writer, u *wire.Upgrade) error {
	fmt.Fprintf(w, "%s\n%s\n\n", level(u), loss(u))
	t := table.New("MEMBER", "ROLE", "VERSION", ">LEVEL", "STATE", "RESTART", "STEP-BACK", ">UPGRADED")
	for i := range u.Members {
		v := &u.Members[i]
		role, known, back, upgraded := v.Role, "", "", ""
		if v.Role == "peer" {
			known, back = fmt.Sprint(v.Level), yes(v.Back)
		}
		if v.Leader {
			role = "leader"
		}
		if !v.UpgradedAt.IsZero() {
			upgraded = v.UpgradedAt.Local().Format(time.DateTime)
		}
		t.Add(v.Name, role, v.Version, known, stateOf(v), yes(v.Restart), back, upgraded)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	if text := next(u); text != "" {
		fmt.Fprintf(w, "\n%s\n", text)
	}
	for _, b := range u.Blockers {
		fmt.Fprintf(w, "The feature level cannot be raised: %s.\n", b)
	}
	if u.Restart != nil {
		fmt.Fprintf(w, "Peer %s restarts, and has the lock until %s.\n", u.Restart.Peer, u.Restart.Until.Local().Format(time.TimeOnly))
	}
	return nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return "no"
}

func stateOf(v *wire.UpgradeState) string {
	text := "down"
	switch {
	case v.Up && v.Role == "peer" && !v.CaughtUp:
		text = "behind"
	case v.Up:
		text = "up"
	}
	if v.Old {
		text += ", old"
	}
	return text
}

// level describes the feature level, and its hold.
func level(u *wire.Upgrade) string {
	text := fmt.Sprintf("The cluster is at feature level %d", u.Level)
	h := u.Hold
	switch {
	case h != nil && len(h.Silent) > 0:
		return text + fmt.Sprintf(". Level %d is held until %s reported when they were upgraded, and for server.level_hold after that.", h.Next, strings.Join(h.Silent, ", "))
	case h != nil && h.Seconds > 0:
		return text + fmt.Sprintf(". Level %d is held until %s, for another %s; berth cluster upgrade finalize raises it at once.", h.Next, h.Until.Local().Format(time.DateTime), table.Seconds(h.Seconds))
	case h != nil:
		return text + fmt.Sprintf(", and rises to %d now.", h.Next)
	case u.Newest > u.Level:
		return text + fmt.Sprintf(". Level %d needs the upgrade of all peers.", u.Newest)
	}
	return text + ", the newest that its peers know."
}

// loss says whether one peer may be away.
func loss(u *wire.Upgrade) string {
	switch {
	case u.Tolerates < 0:
		return "The cluster has stopped: too few peers are up."
	case u.Tolerates == 0:
		return "While one more peer is away, the cluster stops."
	}
	return "One more peer may be away, and the cluster goes on."
}

// next says which member is to be upgraded now, and what it waits for.
func next(u *wire.Upgrade) string {
	if len(u.Next) == 0 {
		return ""
	}
	var names []string
	for _, m := range u.Next {
		names = append(names, m.Role+" "+m.Name)
	}
	text := "To be upgraded, in this order: " + strings.Join(names, ", ") + "."
	for i := range u.Members {
		if v := &u.Members[i]; v.Member == u.Next[0] && v.Waits != "" {
			text += " The first has to wait: " + v.Waits + "."
		}
	}
	return text
}
