package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const shareLong = `Show the recent use of projects and the users within them, relative to their fair share.

GPU-HOURS lose half their weight every half-life (berth policy --set half_life=...). OF FAIR is the use in percent
of the fair share; shares that are not needed are divided among the others. Above 100 % is more than the fair share,
and under fair_share such jobs are moved back. LEAD is the factor by which waiting jobs of a user are moved up after
use below the fair share (x4: they are worth four times as much), or moved back meanwhile (x0.5).`

func newShare() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:     "share",
		Short:   "Show use relative to the fair share, and set shares",
		Long:    shareLong,
		Example: "  berth share\n  berth share set user alice 200",
		Args:    cli.NoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			ask := func(ctx context.Context, api *client.Client) (*wire.Shares, error) {
				return api.Operator().Quotas().Shares(ctx)
			}
			return cli.Reading(c, ask, showShares)(cmd, args)
		},
	}
	c.BindReading(cmd)
	cmd.AddCommand(newShareSet())
	return cmd
}

func newShareSet() *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{
		Use:   "set (project | user) NAME SHARES",
		Short: "Set the share of a project or user, relative to the 100 of every other",
		RunE: func(cmd *cobra.Command, args []string) error {
			scope, name, err := scopeArgs(cmd, args, false)
			if err != nil {
				return err
			}
			if len(args) != 3 {
				return cmdline.Usage("%s takes a scope, a name and shares, such as user alice 200", cmd.CommandPath())
			}
			shares, err := strconv.ParseInt(args[2], 10, 64)
			if err != nil {
				return cmdline.Usage("the shares must be 1 to 10000, not %q", args[2])
			}
			set := func(ctx context.Context, api *client.Client) (*wire.Weight, error) {
				return api.Operator().Quotas().SetShares(ctx, scope, name, shares)
			}
			return cli.Reading(c, set, func(w io.Writer, v *wire.Weight) error {
				_, err := fmt.Fprintf(w, "%s %s: %d shares\n", v.Scope, v.Name, v.Shares)
				return err
			})(cmd, nil)
		},
	}
	c.BindReading(cmd)
	return cmd
}

func showShares(w io.Writer, s *wire.Shares) error {
	if len(s.Shares) == 0 {
		_, err := fmt.Fprintln(w, "No GPU has been used yet.")
		return err
	}
	t := table.New("PROJECT", "USER", ">SHARES", ">GPU-HOURS", ">OF FAIR", ">LEAD", ">GPUS NOW")
	for _, v := range s.Shares {
		t.Add(v.Project, v.User, strconv.FormatInt(v.Shares, 10), hours(v.GPUHours), fmt.Sprintf("%.0f%%", v.OfFair), leadOf(v.Lead),
			strconv.FormatInt(v.GPUs, 10))
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "\nPast use loses half its weight every %s.\n", table.About(time.Duration(s.HalfLife*float64(time.Second))))
	return err
}

// leadOf formats by how much a user's jobs are moved in the queue; empty: they are not.
func leadOf(lead float64) string {
	if lead == 0 || lead == 1 {
		return ""
	}
	return fmt.Sprintf("x%.3g", lead)
}
