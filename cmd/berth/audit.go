package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const auditLong = `Show what was asked for, by whom, and what came of it, newest first.

The peer that answers has its own copy of the trail. Each record is linked to all
before it by a hash, and the last hash stands in the cluster's state: --verify has the
peer compute all of them anew, and names the first record that is not the one that was
written. With --address each peer's copy can be looked at.`

// auditPage is how many records one request asks for.
const auditPage = 1000

// auditFlags are the flags of audit.
type auditFlags struct {
	connection

	query        client.AuditQuery
	since, until string
	limit        int
	verify       bool
}

func newAudit() *cobra.Command {
	f := &auditFlags{}
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Show who asked for what, and what came of it",
		Long:    auditLong,
		Example: "  berth audit --target \"job 17\"\n  berth audit --actor alice --result refused --since 24h\n  berth audit --verify",
		Args:    noArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.bind(cmd)
	to := cmd.Flags()
	to.StringVarP(&f.output, "output", "o", "", "json, yaml, csv, or a table if it is not given")
	to.StringVar(&f.query.Actor, "actor", "", "only what this `name` asked for: alice, user:alice, node:gpu1, peer:p2")
	to.StringVar(&f.query.Target, "target", "", "only what was about this `thing`: \"job 17\", \"node gpu1\", \"user alice\"")
	to.StringVar(&f.query.Action, "action", "", "only this `action`, such as submit, cancel or set_policy")
	to.StringVar(&f.query.Result, "result", "", "only this `result`: ok, refused, or a code")
	to.StringVar(&f.since, "since", "", "not before this `time`: 24h for a day ago, or such as 2026-01-31T20:00")
	to.StringVar(&f.until, "until", "", "not after this `time`")
	to.IntVarP(&f.limit, "limit", "n", 50, "at most so `many`; 0: all")
	to.BoolVar(&f.verify, "verify", false, "have the peer compute the whole trail's hashes anew")
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command) (err error) {
	if err := f.checkCSV(); err != nil {
		return err
	}
	now := time.Now()
	if f.query.Since, err = ago("--since", f.since, now); err != nil {
		return err
	}
	if f.query.Until, err = ago("--until", f.until, now); err != nil {
		return err
	}
	if f.limit < 0 {
		return usage("--limit must not be negative")
	}
	api, err := f.dial()
	if err != nil {
		return err
	}
	if f.verify {
		return f.check(cmd, api)
	}
	all, err := f.list(cmd.Context(), api)
	if err != nil {
		return err
	}
	if f.output == "csv" {
		return auditCSV(cmd.OutOrStdout(), all.Records)
	}
	return f.print(cmd.OutOrStdout(), all, func(w io.Writer) error { return showAudit(w, all) })
}

// ago reads an instant, or how long ago it was.
func ago(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := wire.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	t, err := instant(text, now)
	if err != nil {
		return t, usage("%s must be such as 24h, for a day ago, or 2026-01-31T20:00, not %q", flag, text)
	}
	return t, nil
}

// list asks for page after page.
func (f *auditFlags) list(ctx context.Context, api *client.Client) (all *wire.Audit, err error) {
	q := f.query
	for {
		q.Limit = auditPage
		if all != nil && f.limit > 0 {
			q.Limit = min(q.Limit, f.limit-len(all.Records))
		} else if f.limit > 0 {
			q.Limit = min(q.Limit, f.limit)
		}
		page, err := api.Operator().Audit(ctx, q)
		if err != nil {
			return nil, err
		}
		if all == nil {
			all = page
		} else {
			all.Records, all.Next = append(all.Records, page.Records...), page.Next
		}
		if q.Before = page.Next; q.Before == 0 || f.limit > 0 && len(all.Records) >= f.limit {
			return all, nil
		}
	}
}

func showAudit(w io.Writer, all *wire.Audit) error {
	t := table.New("TIME", "ACTOR", "ACTION", "TARGET", "RESULT")
	now := time.Now()
	for i := range all.Records {
		r := &all.Records[i]
		result := r.Result
		if r.Repeated {
			result += " (again)"
		}
		t.Add(table.Clock(r.Time, now), r.Actor, r.Action, r.Target, result)
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	var err error
	switch {
	case all.Failing:
		_, err = fmt.Fprintln(w, "This peer's archive cannot be written at the moment: the newest records may lack. Its log says why.")
	case all.CompleteTo == 0:
		_, err = fmt.Fprintf(w, "This peer has yet to get %d records from others.\n", all.Missing)
	case all.Lost > 0:
		_, err = fmt.Fprintf(w, "%d records are in no peer's archive.\n", all.Lost)
	}
	return err
}

func auditCSV(w io.Writer, records []wire.AuditRecord) error {
	out := csv.NewWriter(w)
	lines := [][]string{{"seq", "index", "time", "actor", "from", "action", "target", "result", "detail", "request_id", "repeated"}}
	for i := range records {
		r := &records[i]
		lines = append(lines, []string{
			strconv.FormatUint(r.Seq, 10), strconv.FormatUint(r.Index, 10), r.Time.UTC().Format(time.RFC3339Nano), r.Actor, r.From,
			r.Action, r.Target, r.Result, r.Detail, r.Request, strconv.FormatBool(r.Repeated),
		})
	}
	return out.WriteAll(lines)
}

// check has a peer look at its trail. One that is not whole is a failure.
func (f *auditFlags) check(cmd *cobra.Command, api *client.Client) error {
	v, err := api.Operator().VerifyAudit(cmd.Context())
	if err != nil {
		return err
	}
	show := showVerdict
	if f.output == "csv" {
		return usage("--verify prints no csv")
	}
	if err := f.print(cmd.OutOrStdout(), v, func(w io.Writer) error { return show(w, v) }); err != nil || v.OK {
		return err
	}
	return exitError(exitFailure)
}

func showVerdict(w io.Writer, v *wire.AuditVerdict) error {
	s := &sheet{}
	s.line("Peer", "%s", v.Peer)
	s.line("Records", "%d looked at, %d not there", v.Records, v.Missing)
	s.line("Head", "record %d of log entry %d, %s", v.Head.Seq, v.Head.Index, v.Head.Hash)
	switch {
	case v.OK:
		s.line("Verdict", "the trail is whole and as it was written")
	case v.FirstBad > 0:
		s.line("Verdict", "record %d differs: %s", v.FirstBad, v.What)
	default:
		s.line("Verdict", "%s", v.What)
	}
	_, err := io.WriteString(w, s.String())
	return err
}
