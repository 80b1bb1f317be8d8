package fleet

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/berth-gpu/berth/cluster/history"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/problem"
	"github.com/berth-gpu/berth/httpapi/view"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const (
	// mostSteps bounds the steps of an answer: 24 hours at one minute.
	mostSteps = history.Kept
)

// past returns the cluster's history.
type past struct{ api *core.API }

// pastInput is the input of GET /cluster/history.
type pastInput struct {
	Since  time.Time `query:"since" doc:"from this time on; by default 24 hours before until"`
	Until  time.Time `query:"until" doc:"up to this time; by default now"`
	Step   int       `query:"step" minimum:"60" maximum:"86400" default:"60" doc:"seconds, a multiple of 60"`
	Series string    `query:"series" maxLength:"2048" doc:"names, separated by commas; by default all series. NAME_max is the greatest value of each step, where NAME is the mean."`
}

func (a past) route(doc huma.API) {
	o := core.Op("cluster-history", http.MethodGet, "/cluster/history", "The cluster's last 24 hours, minute by minute, in columns")
	var words strings.Builder
	words.WriteString("The same at every peer, some seconds after the begin of a minute. A minute without a leader has no values (null). Series: ")
	for i, s := range history.AllSeries() {
		if i > 0 {
			words.WriteString("; ")
		}
		fmt.Fprintf(&words, "%s: %s", s, s.What())
	}
	o.Description = words.String() + "."
	core.Handle(a.api, doc, o, a.read)
}

func (a past) read(_ context.Context, in *pastInput) (*core.Answer[wire.ClusterHistory], error) {
	s := a.api.State()
	columns, err := columnsOf(in.Series)
	if err != nil {
		return nil, err
	}
	if in.Step%60 != 0 {
		return nil, problem.Invalid("step", fmt.Sprintf("%d is not a multiple of 60 seconds: there is one record a minute", in.Step))
	}
	until := a.api.Now(&s)
	if !in.Until.IsZero() {
		until = view.TimeOf(in.Until)
	}
	since := until.Add(-history.Kept * time.Minute)
	if !in.Since.IsZero() {
		since = view.TimeOf(in.Since)
	}
	if since < 0 || since >= until {
		return nil, problem.Invalid("since", "must be before until ("+until.Time().Format(time.RFC3339)+"), and after 1970")
	}
	step := history.Minute(in.Step / 60)
	from := history.MinuteOf(since) / step * step
	steps := (history.MinuteOf(until-1) - from) / step
	if in.Since.IsZero() && steps >= mostSteps {
		from, steps = from+step, steps-1 // a day that does not begin with a minute
	}
	if steps++; steps > mostSteps {
		return nil, problem.Invalid("step", fmt.Sprintf("%d is too small for this span, of which there would be %d steps; an answer has at most %d: ask for a longer step or a shorter span",
			in.Step, steps, mostSteps))
	}
	out := &wire.ClusterHistory{Start: from.Time().Time(), Step: int64(in.Step), Series: map[string][]*float64{}}
	records := a.api.Peer.History.Between(from, from+step*steps)
	values := history.Columns(records, from, int(step), int(steps), columns)
	for i, c := range columns {
		out.Series[c.String()] = values[i]
	}
	return &core.Answer[wire.ClusterHistory]{Index: s.Index, Body: out}, nil
}

// columnsOf returns the columns that a list names; all series if it is empty.
func columnsOf(list string) (out []history.Column, err error) {
	if list == "" {
		for _, s := range history.AllSeries() {
			out = append(out, history.Column{Series: s})
		}
		return out, nil
	}
	for name := range strings.SplitSeq(list, ",") {
		c, found := history.ColumnOf(strings.TrimSpace(name))
		if !found {
			return nil, problem.Invalid("series", fmt.Sprintf("there is no series %q; there are %s, and each with _max", strings.TrimSpace(name), seriesNames()))
		}
		if !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out, nil
}

// seriesNames lists all series.
func seriesNames() string {
	var out []string
	for _, s := range history.AllSeries() {
		out = append(out, s.String())
	}
	return strings.Join(out, ", ")
}
