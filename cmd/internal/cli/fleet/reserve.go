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

const reserveLong = `Without options: list the reservations.

With --start and --duration: reserve GPUs for the jobs of a user or a project. Jobs of
others get these GPUs only if they end before the start by their time limits; running
preemptible jobs are suspended at the start if necessary.

With --maintenance: the nodes get only jobs that end before by their time limits, are
drained at the start, and opened again at the end.`

// reservation holds the flags of berth reserve.
type reservation struct {
	gpus          int64
	wanted        *int64 // value of --gpus; nil: not given
	model         string
	nodes         []string
	user, project string
	start, end    string
	duration      string
	maintenance   bool
	reason        string
}

func newReserve() *cobra.Command {
	c := &cli.Connection{}
	v := &reservation{}
	cmd := &cobra.Command{
		Use:   "reserve",
		Short: "Reserve GPUs for a span of time, or nodes for their maintenance; list and cancel",
		Long:  reserveLong,
		Example: "  berth reserve --gpus 8 --start 2026-12-01T09:00 --duration 4h --user alice\n" +
			"  berth reserve --nodes gpu1,gpu2 --start tomorrow --duration 1d --project vision --reason course\n" +
			"  berth reserve --maintenance --nodes gpu3 --start 22:00 --duration 2h --reason \"new driver\"\n" +
			"  berth reserve\n  berth reserve cancel 3",
		Args: cli.NoArgs,
	}
	c.BindReading(cmd)
	v.bind(cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !v.given(cmd) {
			ask := func(ctx context.Context, api *client.Client) (*wire.Reservations, error) {
				return api.Operator().Reservations(ctx)
			}
			return cli.Reading(c, ask, showReservations)(cmd, args)
		}
		v.wanted = cli.Optional(cmd, "gpus", &v.gpus)
		body, err := v.body(time.Now())
		if err != nil {
			return err
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.Reserved, error) {
			return api.Operator().Reserve(ctx, body)
		}
		return cli.Reading(c, ask, showReserved)(cmd, args)
	}
	cmd.AddCommand(newUnreserve(), newReserveLimits())
	return cmd
}

func (v *reservation) bind(cmd *cobra.Command) {
	f := cmd.Flags()
	f.Int64VarP(&v.gpus, "gpus", "g", 0, "`number` of GPUs in all; with --nodes the same on each, by default all of theirs")
	f.StringVar(&v.model, "model", "", "`model` of the GPUs, or words of it such as h100; any by default")
	f.StringSliceVar(&v.nodes, "nodes", nil, "`node,...` where they are, such as n1,n2 or n[1-4]; anywhere by default")
	f.StringVarP(&v.user, "user", "u", "", "`user` whose jobs may use them; you by default")
	f.StringVarP(&v.project, "project", "p", "", "`project` whose jobs may use them")
	f.StringVar(&v.start, "start", "", "`time` such as +2h, 20:00, tomorrow or 2026-12-01T09:00; now by default")
	f.StringVar(&v.end, "end", "", "`time` of the end; or --duration")
	f.StringVarP(&v.duration, "duration", "d", "", "length, a `time` such as 4h or 2d")
	f.BoolVar(&v.maintenance, "maintenance", false, "the nodes get no work, and are drained at the start")
	f.StringVar(&v.reason, "reason", "", "`text` that berth reserve and berth nodes show")
	cli.AllowEmpty(f, "reason")
}

// given reports whether the flags describe a new reservation.
func (v *reservation) given(cmd *cobra.Command) bool {
	for _, name := range []string{"gpus", "model", "nodes", "user", "project", "start", "end", "duration", "maintenance", "reason"} {
		if cmd.Flags().Changed(name) {
			return true
		}
	}
	return false
}

func (v *reservation) body(now time.Time) (*wire.Reserve, error) {
	nodes, err := model.ParseNodes(strings.Join(v.nodes, ","))
	if err != nil {
		return nil, cmdline.Usage("--nodes %w", err)
	}
	r := &wire.Reserve{GPUs: v.wanted, GPUType: v.model, Nodes: nodes, User: v.user, Project: v.project, Reason: v.reason}
	switch {
	case v.wanted != nil && v.gpus < 1:
		return nil, cmdline.Usage("--gpus must be at least 1, not %d", v.gpus)
	case v.maintenance && (v.gpus > 0 || v.model != "" || v.user != "" || v.project != ""):
		return nil, cmdline.Usage("--maintenance takes whole nodes out of service: leave out --gpus, --model, --user and --project")
	case v.maintenance && len(v.nodes) == 0:
		return nil, cmdline.Usage("--maintenance needs --nodes")
	case !v.maintenance && v.gpus == 0 && len(v.nodes) == 0:
		return nil, cmdline.Usage("the number of GPUs is missing: give --gpus, or --nodes for all GPUs of those")
	case v.user != "" && v.project != "":
		return nil, cmdline.Usage("give --user or --project, not both")
	case (v.end == "") == (v.duration == ""):
		return nil, cmdline.Usage("give --duration or --end")
	}
	if v.maintenance {
		r.Maintenance = &v.maintenance
	} else if r.User == "" && r.Project == "" {
		r.User = cli.OwnName()
	}
	if v.duration != "" {
		d, err := cli.Span(v.duration)
		if err != nil || d <= 0 {
			return nil, cmdline.Usage("--duration must be a time such as 90m, 4h or 2d, not %q", v.duration)
		}
		duration := wire.Duration(d)
		r.Duration = &duration
	}
	if r.Start, err = cli.Moment("--start", v.start, now); err == nil {
		r.End, err = cli.Moment("--end", v.end, now)
	}
	if v.start == "now" {
		r.Start = ""
	}
	return r, err
}

func newUnreserve() *cobra.Command {
	c := &cli.Connection{}
	var reason string
	cmd := &cobra.Command{
		Use:   "cancel ID...",
		Short: "Cancel reservations or maintenances",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdline.Usage("%s takes the numbers of reservations; see berth reserve", cmd.CommandPath())
			}
			api, err := c.Dial()
			if err != nil {
				return err
			}
			for _, id := range args {
				if _, err := api.Operator().CancelReservation(cmd.Context(), id, reason); err != nil {
					return fmt.Errorf("reservation %s: %w", id, err)
				}
				if _, err := fmt.Fprintf(cmd.OutOrStdout(), "Canceled %s\n", id); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Bind(cmd)
	cmd.Flags().StringVar(&reason, "reason", "", "`text` for the record")
	cli.AllowEmpty(cmd.Flags(), "reason")
	return cmd
}

func newReserveLimits() *cobra.Command {
	c := &cli.Connection{}
	var percent, perUser, userPercent int64
	var ahead, longest string
	cmd := &cobra.Command{
		Use:     "limits",
		Short:   "Show or set the limits of reservations",
		Example: "  berth reserve limits\n  berth reserve limits --percent 75 --longest 7d",
		Args:    cli.NoArgs,
	}
	c.BindReading(cmd)
	f := cmd.Flags()
	f.Int64Var(&percent, "percent", 0, "`part` of the cluster's GPUs that may be reserved at once, 1 to 100")
	f.StringVar(&ahead, "ahead", "", "how far ahead a reservation may begin, a `time` such as 90d")
	f.StringVar(&longest, "longest", "", "how long one may last, a `time` such as 14d")
	f.Int64Var(&perUser, "per-user", 0, "most reservations of a user or a project, a `number`")
	f.Int64Var(&userPercent, "percent-per-user", 0, "`part` of the cluster's GPUs that one user or project may have reserved at once, 1 to 100; operators may reserve more for them")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body := &wire.SetReservationLimits{}
		for _, v := range []struct {
			flag, text string
			to         **wire.Duration
		}{{"ahead", ahead, &body.Ahead}, {"longest", longest, &body.Longest}} {
			d, err := cli.Span(v.text)
			if v.text != "" && err != nil {
				return cmdline.Usage("--%s must be a time such as 12h or 30d, not %q", v.flag, v.text)
			} else if v.text != "" {
				duration := wire.Duration(d)
				*v.to = &duration
			}
		}
		if f.Changed("percent") {
			body.Percent = &percent
		}
		if f.Changed("per-user") {
			body.PerUser = &perUser
		}
		if f.Changed("percent-per-user") {
			body.UserPercent = &userPercent
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.Reservations, error) {
			if *body == (wire.SetReservationLimits{}) {
				return api.Operator().Reservations(ctx)
			}
			return api.Operator().SetReservationLimits(ctx, body)
		}
		return cli.Reading(c, ask, showReserveLimits)(cmd, args)
	}
	return cmd
}

func showReserveLimits(w io.Writer, r *wire.Reservations) error {
	t := table.New("LIMIT", "VALUE", "LIMIT OF")
	t.Add("percent", strconv.FormatInt(r.Limits.Percent, 10), "percent of the cluster's GPUs that may be reserved at once")
	t.Add("ahead", table.Span(time.Duration(r.Limits.Ahead)), "how far ahead a reservation may begin")
	t.Add("longest", table.Span(time.Duration(r.Limits.Longest)), "how long one may last")
	t.Add("per-user", strconv.FormatInt(r.Limits.PerUser, 10), "the most of a user or a project")
	t.Add("percent-per-user", strconv.FormatInt(r.Limits.UserPercent, 10), "percent of the cluster's GPUs that one user or project may have reserved at once")
	_, err := t.WriteTo(w)
	return err
}

func showReservations(w io.Writer, r *wire.Reservations) error {
	if len(r.Reservations) == 0 {
		_, err := fmt.Fprintln(w, "Nothing is reserved.")
		return err
	}
	return tableOf(r.Reservations, w)
}

func tableOf(list []wire.Reservation, w io.Writer) error {
	t := table.New(">ID", "OWNER", ">GPUS", "START", "END", "STATE", "NODES", "REASON")
	now := time.Now()
	for i := range list {
		v := &list[i]
		gpus := "all"
		if v.GPUs > 0 {
			gpus = strings.TrimSpace(strconv.FormatInt(v.GPUs, 10) + " " + v.GPUType)
		}
		t.Add(v.ID, ownerOf(v), gpus, table.Clock(v.Start, now), table.Clock(v.End, now), stateOf(v), strings.Join(v.Nodes, ","), v.Reason)
	}
	_, err := t.WriteTo(w)
	return err
}

func ownerOf(v *wire.Reservation) string {
	switch {
	case v.Project != "":
		return "project " + v.Project
	case v.User != "":
		return v.User
	}
	return v.Kind
}

// stateOf returns "planned", "active" or "over", and what is missing.
func stateOf(v *wire.Reservation) string {
	if v.Short > 0 {
		return fmt.Sprintf("%s, %d missing", v.State, v.Short)
	}
	return v.State
}

func showReserved(w io.Writer, r *wire.Reserved) error {
	if r.Reservation == nil {
		_, err := fmt.Fprintln(w, r.Message)
		return err
	}
	what := "Reserved"
	if r.Reservation.Kind == "maintenance" {
		what = "Planned maintenance"
	}
	if _, err := fmt.Fprintf(w, "%s %s\n", what, r.Reservation.ID); err != nil {
		return err
	}
	return tableOf([]wire.Reservation{*r.Reservation}, w)
}

// plans returns the reservations of a node in one line; empty: there are none.
func plans(n *wire.Node) string {
	var list []string
	now := time.Now()
	for i := range n.Reservations {
		v := &n.Reservations[i]
		if v.Kind == "maintenance" && v.State == "active" && strings.HasPrefix(n.Reason, "maintenance "+v.ID) {
			continue // the node's state shows this one already
		}
		text := v.Kind + " " + v.ID
		if v.Kind != "maintenance" {
			text += " of " + ownerOf(v)
		}
		text += " " + table.Clock(v.Start, now) + " to " + table.Clock(v.End, now)
		if v.Reason != "" {
			text += ": " + v.Reason
		}
		list = append(list, text)
	}
	return strings.Join(list, "; ")
}
