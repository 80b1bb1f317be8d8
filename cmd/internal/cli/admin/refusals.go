package admin

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// requests shows the requests that a peer refused before they reached the log, or the reads of
// other users' data that it answered.
func (f *auditFlags) requests(cmd *cobra.Command, ask func(context.Context, client.AuditQuery) (*wire.Refusals, error)) error {
	q := f.query
	if q.Result == "refused" { // all of them are refused
		q.Result = ""
	}
	all := &wire.Refusals{Refusals: []wire.Refusal{}}
	err := f.Pages(func(most int) (int, bool, error) {
		q.Limit = most
		page, err := ask(cmd.Context(), q)
		if err != nil {
			return 0, false, err
		}
		if q.Before > 0 && page.Peer != all.Peer {
			return 0, false, fmt.Errorf("peer %s does not answer any more, and peer %s has other records: repeat the command", all.Peer, page.Peer)
		}
		page.Refusals = append(all.Refusals, page.Refusals...)
		all, q.Before = page, page.Next
		return len(all.Refusals), page.Next > 0, nil
	})
	if err != nil {
		return err
	}
	return f.Write(cmd.OutOrStdout(), all, func() [][]string { return refusalLines(all.Refusals) },
		func(w io.Writer) error { return showRefusals(w, all) })
}

func showRefusals(w io.Writer, all *wire.Refusals) error {
	if len(all.Refusals) == 0 {
		_, err := fmt.Fprintf(w, "Peer %s has no record of this kind; each peer keeps its own.\n", all.Peer)
		return err
	}
	t := table.New("TIME", "ACTOR", "FROM", "REQUEST", "RESULT")
	now := time.Now()
	for i := range all.Refusals {
		r := &all.Refusals[i]
		t.Add(table.Clock(r.Time, now), r.Actor, r.From, r.Method+" "+r.Path, r.Code)
	}
	if _, err := t.WriteTo(w); err != nil || all.Next == 0 {
		return err
	}
	_, err := fmt.Fprintln(w, "There are older records: more with --limit, all with --limit 0.")
	return err
}

func refusalLines(refusals []wire.Refusal) [][]string {
	lines := [][]string{{"time", "actor", "from", "method", "path", "status", "code", "request_id", "dropped_before"}}
	for i := range refusals {
		r := &refusals[i]
		lines = append(lines, []string{
			r.Time.UTC().Format(time.RFC3339Nano), r.Actor, r.From, r.Method, r.Path, strconv.Itoa(r.Status), r.Code, r.Request,
			strconv.FormatUint(r.Dropped, 10),
		})
	}
	return lines
}
