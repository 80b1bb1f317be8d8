package jobs

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// allocateWait bounds one request for an allocation that waits.
const allocateWait = 30 * time.Second

func newAllocate() *cobra.Command {
	c := &cli.Connection{}
	r := &wire.Allocate{}
	var gpus int64
	var priority, ttl string
	var memory float64
	var wait bool
	cmd := &cobra.Command{
		Use:   "allocate SERVICE",
		Short: "Ask for GPUs for a service, without a job",
		Long: "Ask for GPUs for a service that runs by itself. They are held for the time given, unless renewed,\n" +
			"and released by berth release.",
		Example: "  berth allocate web -g 2 --ttl 8h --wait\n  berth renew web-1200000\n  berth release web-1200000",
		Args:    cli.One("the name of a service"),
	}
	c.BindReading(cmd)
	f := cmd.Flags()
	f.Int64VarP(&gpus, "gpus", "g", 1, "`number` of GPUs, all on one node")
	f.StringVar(&r.GPUType, "model", "", "`type` of the GPUs; any by default")
	f.Float64Var(&memory, "gpu-mem", 0, "least memory of each GPU, in `GB`")
	f.StringVar(&r.Workload, "type", "", "`kind` of work: training, inference, embedding, ocr, graph_processing or generic")
	f.StringVarP(&priority, "priority", "p", "", "`priority` from 1 to 10; 5 by default")
	f.StringVar(&ttl, "ttl", "", "a `time` such as 8h after which they are released; 1h by default, 0: never")
	f.StringVarP(&r.Project, "project", "A", "", "`project` that they count to")
	f.StringVarP(&r.Constraint, "constraint", "C", "", "`labels` of the node, such as zone=a,!spot")
	f.StringVar(&r.WebhookURL, "webhook", "", "`URL` that is notified when they are allocated, and when they are lost")
	f.BoolVar(&wait, "wait", false, "end when they are allocated")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		r.Service, r.GPUs = args[0], &gpus
		if f.Changed("gpu-mem") {
			r.GPUMemory = &memory
		}
		if err := allocateFlags(r, priority, ttl); err != nil {
			return err
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.Allocated, error) {
			r.User = cli.Me(ctx, api)
			out, err := client.ServicesOf(api).Allocate(ctx, r)
			if err != nil || !wait {
				return out, err
			}
			err = awaitGrant(ctx, api, out)
			return out, cli.GoesOn(cmd, "The request "+out.AllocationID, "to end it: berth release "+out.AllocationID, err)
		}
		return cli.Reading(c, ask, showAllocated)(cmd, nil)
	}
	return cmd
}

// allocateFlags parses the flags of allocate that are text.
func allocateFlags(r *wire.Allocate, priority, ttl string) error {
	if priority != "" {
		n, err := strconv.ParseInt(priority, 10, 64)
		if err != nil {
			return cmdline.Usage("--priority must be 1 to 10, not %q", priority)
		}
		r.Priority = &n
	}
	var err error
	r.TTL, err = ttlOf(ttl)
	return err
}

// ttlOf parses a time to live; empty text gives nil.
func ttlOf(text string) (*wire.Duration, error) {
	if text == "" {
		return nil, nil
	}
	d, err := wire.ParseDuration(text)
	if err != nil {
		return nil, cmdline.Usage("--ttl must be a time such as 90m or 8h, not %q", text)
	}
	v := wire.Duration(d)
	return &v, nil
}

// awaitGrant waits until an allocation has its GPUs. An allocation that has ended is an error.
func awaitGrant(ctx context.Context, api *client.Client, out *wire.Allocated) error {
	var index uint64
	for out.Status == "queued" {
		one, at, err := client.ServicesOf(api).Allocation(ctx, out.AllocationID, client.JobQuery{Index: index, Wait: allocateWait})
		if err != nil {
			return fmt.Errorf("waiting for %s: %w", out.AllocationID, err)
		}
		index, out.Status, out.Message, out.Allocation = at, one.Status, one.Status, *one
		out.AllocatedAt, out.WaitSeconds, out.Position = one.AllocatedAt, one.WaitSeconds, one.Position
	}
	if out.Status != "allocated" {
		return fmt.Errorf("%s is %s: it has no GPUs any more", out.AllocationID, out.Status)
	}
	return nil
}

func showAllocated(w io.Writer, r *wire.Allocated) error {
	a := &r.Allocation
	line := fmt.Sprintf("%s %s", strings.ToUpper(r.Status[:1])+r.Status[1:], r.AllocationID)
	switch r.Status {
	case "queued":
		line += fmt.Sprintf(" (position %d; see berth allocations %s)", r.Position, r.AllocationID)
	case "allocated":
		line += fmt.Sprintf(": GPUs %s of %s", gpuPlaces(a.GPUIDs), a.NodeID)
		if !a.ExpiresAt.IsZero() {
			line += " until " + table.Clock(a.ExpiresAt, time.Now())
		}
	}
	_, err := fmt.Fprintln(w, line)
	return err
}

// gpuPlaces formats GPU numbers as "0,1".
func gpuPlaces(list []int64) string {
	texts := make([]string, 0, len(list))
	for _, n := range list {
		texts = append(texts, strconv.FormatInt(n, 10))
	}
	return strings.Join(texts, ",")
}

func newAllocations() *cobra.Command {
	c := &cli.Connection{}
	var q client.AllocationsQuery
	cmd := &cobra.Command{
		Use:     "allocations [ID]",
		Short:   "List the allocations of services, or show one",
		Example: "  berth allocations\n  berth allocations --status queued\n  berth allocations web-1200000",
		Args:    cobra.MaximumNArgs(1),
	}
	c.BindReading(cmd)
	cmd.Flags().StringVar(&q.Service, "service", "", "of this `service` only")
	cmd.Flags().StringVarP(&q.User, "user", "u", "", "of this `user` only")
	cmd.Flags().StringVarP(&q.Status, "status", "s", "", "queued, allocated, released, expired or lost only")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 {
			ask := func(ctx context.Context, api *client.Client) (*wire.ServiceAllocation, error) {
				one, _, err := client.ServicesOf(api).Allocation(ctx, args[0], client.JobQuery{})
				return one, err
			}
			return cli.Reading(c, ask, showAllocation)(cmd, nil)
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.ServiceAllocations, error) {
			return client.ServicesOf(api).Allocations(ctx, q)
		}
		return cli.Reading(c, ask, showAllocations)(cmd, nil)
	}
	return cmd
}

func showAllocations(w io.Writer, r *wire.ServiceAllocations) error {
	t := table.New("ID", "SERVICE", "USER", ">PRI", "STATUS", ">GPUS", "NODE", "GPU", "ASKED", "EXPIRES")
	now := time.Now()
	for i := range r.Allocations {
		a := &r.Allocations[i]
		expires := "-"
		if !a.ExpiresAt.IsZero() {
			expires = table.Clock(a.ExpiresAt, now)
		}
		t.Add(a.ID, a.Service, a.User, strconv.FormatInt(a.Priority, 10), a.Status, strconv.FormatInt(a.GPUs, 10), cmp.Or(a.NodeID, "-"),
			cmp.Or(gpuPlaces(a.GPUIDs), "-"), table.Clock(a.SubmittedAt, now), expires)
	}
	if _, err := t.WriteTo(w); err != nil || r.Next == "" {
		return err
	}
	_, err := fmt.Fprintf(w, "There are more after %s.\n", r.Next)
	return err
}

func showAllocation(w io.Writer, a *wire.ServiceAllocation) error {
	if err := showAllocations(w, &wire.ServiceAllocations{Allocations: []wire.ServiceAllocation{*a}}); err != nil || a.Explanation == nil {
		return err
	}
	s, e := &details{}, a.Explanation
	s.Line("Why", "%s", Local(e.Summary))
	if e.PlannedStart != nil {
		s.Line("Start", "expected %s", rangeText(e.PlannedStart, e.At))
	}
	s.Line("Order", "%s", orderLine(e))
	s.causes(e)
	_, err := fmt.Fprintf(w, "\n%s", s.String())
	return err
}

// releasing makes a command that releases jobs release allocations, too: the id of an allocation
// ends with a hyphen and a number, which no name of a job does.
func releasing(cmd *cobra.Command) *cobra.Command {
	jobs := cmd.RunE
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var ids, rest []string
		for _, arg := range args {
			if isAllocation(arg) {
				ids = append(ids, arg)
			} else {
				rest = append(rest, arg)
			}
		}
		c, err := cli.ConnectionOf(cmd)
		if err == nil && len(ids) > 0 {
			err = onEach(cmd, c, ids, func(ctx context.Context, api *client.Client, id string) (*wire.Allocated, error) {
				return client.ServicesOf(api).Release(ctx, id)
			})
		}
		if err != nil || len(rest) == 0 && len(ids) > 0 {
			return err
		}
		return jobs(cmd, rest)
	}
	return cmd
}

// isAllocation reports whether a text is the id of an allocation rather than of a job.
func isAllocation(text string) bool {
	at := strings.LastIndexByte(text, '-')
	if at < 1 || strings.ContainsAny(text, "[]") {
		return false
	}
	_, err := strconv.ParseUint(text[at+1:], 10, 64)
	return err == nil
}

func newRenew() *cobra.Command {
	var ttl string
	cmd := eachAllocation("renew ID...", "Renew allocations: their time starts again from now on", func(ctx context.Context, api *client.Client, id string) (*wire.Allocated, error) {
		d, err := ttlOf(ttl)
		if err != nil {
			return nil, err
		}
		return client.ServicesOf(api).Renew(ctx, id, d)
	})
	cmd.Flags().StringVar(&ttl, "ttl", "", "a `time` such as 8h (default: as before)")
	return cmd
}

// eachAllocation returns a command that changes the allocations named in its arguments.
func eachAllocation(use, short string, do func(context.Context, *client.Client, string) (*wire.Allocated, error)) *cobra.Command {
	c := &cli.Connection{}
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmdline.Usage("%s takes the ids of allocations; see berth allocations", cmd.CommandPath())
		}
		return onEach(cmd, c, args, do)
	}
	c.Bind(cmd)
	return cmd
}

func onEach(cmd *cobra.Command, c *cli.Connection, ids []string,
	do func(context.Context, *client.Client, string) (*wire.Allocated, error),
) error {
	api, err := c.Dial()
	if err != nil {
		return err
	}
	for _, id := range ids {
		out, err := do(cmd.Context(), api, id)
		if err != nil {
			return fmt.Errorf("allocation %s: %w", id, err)
		}
		if err := showAllocated(cmd.OutOrStdout(), out); err != nil {
			return err
		}
	}
	return nil
}
