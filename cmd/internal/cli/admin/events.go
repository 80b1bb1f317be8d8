package admin

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/cmd/internal/terminal"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const eventsLong = `Show events of jobs, nodes, GPUs, services and the cluster itself.

Each peer keeps the newest events, some ten thousand of them; --follow shows new events,
from any peer that can be reached. docs/notifications.md lists the types.`

// eventsView holds the flags of events.
type eventsView struct {
	cli.Connection

	query  client.EventQuery
	follow bool
}

func newEvents() *cobra.Command {
	v := &eventsView{}
	cmd := &cobra.Command{
		Use:     "events",
		Short:   "Show events, and follow new ones",
		Long:    eventsLong,
		Example: "  berth events -f\n  berth events -f --type failed,node.* -o json\n  berth events --job 17\n  berth events -f --actor alice",
		Args:    cli.NoArgs,
		RunE:    v.run,
	}
	v.Bind(cmd)
	f := cmd.Flags()
	f.StringVarP(&v.Output, "output", "o", "", "json for a line of JSON each, wide for lines that are not cut to the terminal's width, or a table if it is not given")
	f.StringSliceVar(&v.query.Types, "type", nil, "only these `types`, such as job.started, failed or node.*")
	f.StringVar(&v.query.Job, "job", "", "only of the job with this `id`")
	f.StringVarP(&v.query.User, "user", "u", "", "only of this `user`'s jobs and services")
	f.StringVar(&v.query.Node, "node", "", "only of this `node`")
	f.StringVar(&v.query.Actor, "actor", "", "only actions of this `name`: alice, user:alice, node:gpu1, peer:p2")
	f.StringVar(&v.query.Target, "target", "", "only events of this `thing`: \"job 17\", \"node gpu1\", \"peer p2\"")
	f.IntVarP(&v.query.Last, "last", "n", 20, "`number` of the newest events to begin with")
	f.BoolVarP(&v.follow, "follow", "f", false, "continue with new events")
	return cmd
}

func (v *eventsView) run(cmd *cobra.Command, _ []string) error {
	switch v.Output {
	case "", "json", "table", "wide":
	default:
		return cmdline.Usage("--output must be table, wide or json, not %q", v.Output)
	}
	if v.query.Last < 0 || v.query.Last > 10_000 {
		return cmdline.Usage("--last must be 0 to 10000")
	}
	api, err := v.Dial()
	if err != nil {
		return err
	}
	out := cmd.OutOrStdout()
	if v.Output == "wide" {
		out = terminal.Whole(out)
	}
	if v.Output != "json" {
		if err := writeCut(out, fmt.Sprintf(eventLine, "TIME", "ACTOR", "ACTION", "TARGET", "RESULT")); err != nil {
			return err
		}
	}
	v.query.Once = !v.follow
	return api.Lists().Events(cmd.Context(), v.query, func(e *wire.Notice) error { return v.show(out, e) })
}

// eventLine has fixed column widths: lines come one by one, so that columns cannot be measured.
const eventLine = "%-19s  %-18s  %-20s  %-24s  %s\n"

func (v *eventsView) show(w io.Writer, e *wire.Notice) error {
	if v.Output == "json" {
		return json.NewEncoder(w).Encode(e)
	}
	line := fmt.Sprintf(eventLine, e.Timestamp.Local().Format("2006-01-02 15:04:05"), table.Clean(cmp.Or(e.Actor, "-")), e.Type,
		table.Clean(e.Target), table.Clean(cmp.Or(resultOf(e), "-")))
	return writeCut(w, line)
}

// writeCut writes a line, cut to the width of a terminal.
func writeCut(w io.Writer, line string) error {
	if columns := terminal.Columns(w); columns > 0 {
		line = table.Cut(strings.TrimRight(line, "\n"), columns) + "\n"
	}
	_, err := io.WriteString(w, line)
	return err
}

// resultOf returns the result of an event, with the job's name.
func resultOf(e *wire.Notice) string {
	parts := []string{}
	if e.Data.Name != "" && !strings.HasPrefix(e.Target, "webhook") {
		parts = append(parts, e.Data.Name)
	}
	if e.Result != "" {
		parts = append(parts, e.Result)
	}
	return strings.Join(parts, ": ")
}
