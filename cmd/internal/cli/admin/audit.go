package admin

import (
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

const auditLong = `Show the record of all changes, newest first: actor, action, target and result.

The answering peer has its own copy of the trail. Each record is linked to all records
before it by a hash, and the last hash stands in the cluster's state: --verify asks the
peer to recompute all hashes, and names the first record that differs from the original.
--address chooses the peer whose copy is read.

Requests that a peer refuses before they reach the log are not in the trail: --refusals shows
those of the answering peer, with --actor, --result CODE, --since and --until. --reads shows the
reads of other users' data at the answering peer: output and commands of jobs, and snapshots.`

// auditFlags are the flags of audit.
type auditFlags struct {
	cli.Report

	query    client.AuditQuery
	verify   bool
	refusals bool
	reads    bool
}

func newAudit() *cobra.Command {
	f := &auditFlags{}
	cmd := &cobra.Command{
		Use:     "audit",
		Short:   "Show the record of all changes: actor, action, target, result",
		Long:    auditLong,
		Example: "  berth audit --target \"job 17\"\n  berth audit --actor alice --result refused --since 24h\n  berth audit --verify\n  berth audit --refusals --result denied",
		Args:    cli.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd) },
	}
	f.Bind(cmd)
	to := cmd.Flags()
	to.StringVar(&f.query.Actor, "actor", "", "only actions of this `name`: alice, user:alice, node:gpu1, peer:p2")
	to.StringVar(&f.query.Target, "target", "", "only actions on this `thing`: \"job 17\", \"node gpu1\", \"user alice\"")
	to.StringVar(&f.query.Action, "action", "", "only this `action`, such as submit, cancel or set_policy")
	to.StringVar(&f.query.Result, "result", "", "only this `result`: ok, refused, or a code")
	f.BindLimit(cmd)
	to.BoolVar(&f.verify, "verify", false, "have the peer recompute the hashes of the whole trail")
	to.BoolVar(&f.refusals, "refusals", false, "show requests that the answering peer refused before they reached the log")
	to.BoolVar(&f.reads, "reads", false, "show reads of other users' data at the answering peer")
	cmd.MarkFlagsMutuallyExclusive("reads", "refusals")
	for _, other := range []string{"verify", "target", "action"} {
		cmd.MarkFlagsMutuallyExclusive("reads", other)
	}
	cmd.MarkFlagsMutuallyExclusive("refusals", "verify")
	cmd.MarkFlagsMutuallyExclusive("refusals", "target")
	cmd.MarkFlagsMutuallyExclusive("refusals", "action")
	return cmd
}

func (f *auditFlags) run(cmd *cobra.Command) (err error) {
	api, err := f.Begin(&f.query.Since, &f.query.Until)
	if err != nil {
		return err
	}
	if f.verify {
		return f.check(cmd, api)
	}
	if f.refusals {
		return f.requests(cmd, api.Operator().Refusals)
	}
	if f.reads {
		return f.requests(cmd, api.Operator().Reads)
	}
	all := &wire.Audit{Records: []wire.AuditRecord{}}
	err = f.Pages(func(most int) (int, bool, error) {
		f.query.Limit = most
		page, err := api.Operator().Audit(cmd.Context(), f.query)
		if err != nil {
			return 0, false, err
		}
		page.Records = append(all.Records, page.Records...)
		all, f.query.Before = page, page.Next
		return len(all.Records), page.Next > 0, nil
	})
	if err != nil {
		return err
	}
	return f.Write(cmd.OutOrStdout(), all, func() [][]string { return auditLines(all.Records) },
		func(w io.Writer) error { return showAudit(w, all) })
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
	if all.Lost > 0 && all.CompleteTo > 0 && !all.Failing {
		_, err := fmt.Fprintf(w, "%d records are in no peer's archive.\n", all.Lost)
		return err
	}
	return cli.ShowArchive(w, &all.ArchiveStanding)
}

func auditLines(records []wire.AuditRecord) [][]string {
	lines := [][]string{{"seq", "index", "time", "actor", "from", "action", "target", "result", "detail", "request_id", "repeated"}}
	for i := range records {
		r := &records[i]
		lines = append(lines, []string{
			strconv.FormatUint(r.Seq, 10), strconv.FormatUint(r.Index, 10), r.Time.UTC().Format(time.RFC3339Nano), r.Actor, r.From,
			r.Action, r.Target, r.Result, r.Detail, r.Request, strconv.FormatBool(r.Repeated),
		})
	}
	return lines
}

// check asks a peer to verify its audit trail. A trail that is not whole is an error.
func (f *auditFlags) check(cmd *cobra.Command, api *client.Client) error {
	v, err := api.Operator().VerifyAudit(cmd.Context())
	if err != nil {
		return err
	}
	show := showVerdict
	if f.Output == "csv" {
		return cmdline.Usage("--verify prints no csv")
	}
	whole := v.OK && (v.Refusals == nil || v.Refusals.OK) && (v.Reads == nil || v.Reads.OK)
	if err := f.Print(cmd.OutOrStdout(), v, func(w io.Writer) error { return show(w, v) }); err != nil || whole {
		return err
	}
	return cmdline.ExitError(cmdline.ExitFailure)
}

func showVerdict(w io.Writer, v *wire.AuditVerdict) error {
	s := &cli.Sheet{}
	s.Line("Peer", "%s", v.Peer)
	s.Line("Records", "%d verified, %d missing", v.Records, v.Missing)
	s.Line("Head", "record %d of log entry %d, %s", v.Head.Seq, v.Head.Index, v.Head.Hash)
	switch {
	case v.OK:
		s.Line("Verdict", "the trail is complete and unchanged")
	case v.FirstBad > 0:
		s.Line("Verdict", "record %d differs: %s", v.FirstBad, v.What)
	default:
		s.Line("Verdict", "%s", v.What)
	}
	for _, kept := range []struct {
		name string
		v    *wire.RequestsVerdict
	}{{"Refusals", v.Refusals}, {"Reads", v.Reads}} {
		switch {
		case kept.v == nil:
		case kept.v.OK:
			s.Line(kept.name, "%d, unchanged", kept.v.Records)
		default:
			s.Line(kept.name, "record %d: %s", kept.v.FirstBad, kept.v.What)
		}
	}
	_, err := io.WriteString(w, s.String())
	return err
}
