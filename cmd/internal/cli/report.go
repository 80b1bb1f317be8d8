package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Report holds the flags of a command about a span of time, which can also print CSV.
type Report struct {
	Connection

	since, until string
	limit        int
}

// pageLimit is how many entries one request asks for.
const pageLimit = 1000

// Bind adds the flags.
func (r *Report) Bind(cmd *cobra.Command) {
	r.bindOutput(cmd)
	to := cmd.Flags()
	to.StringVarP(&r.since, "since", "S", "", "not before this `time`: 24h for a day ago, or such as 2026-01-31T20:00")
	to.StringVarP(&r.until, "until", "E", "", "not after this `time`")
}

// BindList adds the flags of a list that has no span of time.
func (r *Report) BindList(cmd *cobra.Command) {
	r.bindOutput(cmd)
	r.BindLimit(cmd)
}

func (r *Report) bindOutput(cmd *cobra.Command) {
	r.Connection.Bind(cmd)
	cmd.Flags().StringVarP(&r.Output, "output", "o", "", "csv, "+outputMeans)
}

// BindLimit adds the flag for the number of entries.
func (r *Report) BindLimit(cmd *cobra.Command) {
	cmd.Flags().IntVarP(&r.limit, "limit", "n", 50, "the most entries, a `number`; 0: all")
}

// Begin checks the flags, fills in the span and connects.
func (r *Report) Begin(since, until *time.Time) (_ *client.Client, err error) {
	now := time.Now()
	if *since, err = ago("--since", r.since, now); err != nil {
		return nil, err
	}
	if *until, err = ago("--until", r.until, now); err != nil {
		return nil, err
	}
	return r.Open()
}

// Open checks the flags of a list and connects.
func (r *Report) Open() (*client.Client, error) {
	if r.Output != "csv" && r.CheckOutput() != nil {
		return nil, cmdline.Usage("--output must be table, wide, json, yaml or csv, not %q", r.Output)
	}
	if r.limit < 0 {
		return nil, cmdline.Usage("--limit must not be negative")
	}
	return r.Dial()
}

// Pages requests page after page until there are no more or the limit is reached. ask returns the
// number of entries so far.
func (r *Report) Pages(ask func(most int) (have int, more bool, err error)) error {
	for have, more := 0, true; more && (r.limit == 0 || have < r.limit); {
		most := pageLimit
		if r.limit > 0 {
			most = min(most, r.limit-have)
		}
		var err error
		if have, more, err = ask(most); err != nil {
			return err
		}
	}
	return nil
}

// Write writes an answer in the requested format.
func (r *Report) Write(w io.Writer, answer any, lines func() [][]string, show func(io.Writer) error) error {
	if r.Output == "csv" {
		return table.WriteCSV(w, lines())
	}
	return r.Print(w, answer, show)
}

// ago parses an instant, or how long ago it was.
func ago(flag, text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	if d, err := wire.ParseDuration(text); err == nil {
		return now.Add(-d), nil
	}
	t, err := instant(text, now)
	if err != nil {
		return t, cmdline.Usage("%s must be such as 24h, for a day ago, or 2026-01-31T20:00, not %q", flag, text)
	}
	return t, nil
}

// ShowArchive prints which part of the history an archive lacks.
func ShowArchive(w io.Writer, a *wire.ArchiveStanding) (err error) {
	switch {
	case a.Failing:
		_, err = fmt.Fprintln(w, "This peer's archive cannot be written at the moment: the newest records may be missing. The cause is in the peer's log.")
	case a.CompleteTo == 0:
		_, err = fmt.Fprintln(w, "This peer has not yet got all records from other peers.")
	}
	return err
}

// Tenths formats a number with one digit after the point, and numbers below 0.1 with up to four.
func Tenths(v float64) string {
	if v > 0 && v < 0.1 {
		return strings.TrimRight(strconv.FormatFloat(v, 'f', 4, 64), "0")
	}
	return strconv.FormatFloat(v, 'f', 1, 64)
}

// Decimal formats a number with as many digits as it needs.
func Decimal(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
