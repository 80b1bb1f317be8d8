package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/berth-gpu/berth/cluster/figures"
)

// versus is what compare measures.
type versus struct {
	base string // commit
	jobs int    // of a round
}

// figure is one figure of both programs: a cell of a table of berth bench, or of the table of idle.
type figure struct {
	what   string
	table  string            // the beginning of its title
	row    map[string]string // cells that the row has, where the table has the column
	column string            // the beginning of its head
}

// compared lists the figures. Where higher is better, the name says "a second".
func compared() []figure {
	submissions := func(clients, to, column, what string) figure {
		return figure{what, "Submissions over HTTP", map[string]string{"clients": clients, "sent to": to}, column}
	}
	return []figure{
		submissions("64", "the leader", "a second", "submissions a second, 64 clients, at the leader"),
		submissions("64", "any peer", "a second", "submissions a second, 64 clients, at any peer"),
		submissions("1", "the leader", "p50", "a submission at one client, at the leader, p50"),
		submissions("1", "any peer", "p50", "a submission at one client, at any peer, p50"),
		submissions("64", "the leader", "CPU each", "CPU of a submission, 64 clients, at the leader"),
		submissions("64", "any peer", "CPU each", "CPU of a submission, 64 clients, at any peer"),
		{"jobs a second from end to end", "Jobs from end to end", nil, "jobs a second"},
		{"CPU of a job: peers, agents and load", "Jobs from end to end", nil, "CPU each"},
		{"start on an idle cluster, p50", "Start on an idle cluster", nil, "p50"},
		{"failover, p50", "Failover", map[string]string{"client": "plain text"}, "p50"},
		{"failover, longest", "Failover", map[string]string{"client": "plain text"}, "most"},
		{"leader's memory, nothing queued", "A long queue", map[string]string{"queued": "0"}, "leader's memory"},
		{"leader's memory, 10,000 queued", "A long queue", map[string]string{"queued": "10,000"}, "leader's memory"},
		{"an idle peer, of a core", "Idle", nil, "a peer"},
		{"an idle agent, of a core", "Idle", nil, "an agent"},
	}
}

// measureCompare builds the programs of another commit, and measures them and the present ones in turns: both meet the same machine. Each
// program is measured by its own berth bench, so that clients and peers fit each other.
func measureCompare(ctx context.Context, s *setup) (out *figures.Table, err error) {
	if s.base == "" {
		return nil, errors.New("compare needs -base, a commit to compare with")
	}
	dir, err := filepath.Abs(s.dir)
	if err != nil {
		return nil, err
	}
	tree := filepath.Join(dir, "base")
	if err := checkOut(ctx, s, tree); err != nil {
		return nil, err
	}
	defer func() {
		_, removed := output(context.WithoutCancel(ctx), ".", "git", "worktree", "remove", "--force", tree)
		err = errors.Join(err, removed)
	}()
	s.say("compare: building %s", s.base)
	if _, err := output(ctx, tree, "make", "program"); err != nil {
		return nil, err
	}
	now, err := filepath.Abs(s.program)
	if err != nil {
		return nil, err
	}
	programs := [2]string{filepath.Join(tree, "bin", "berth"), now}
	var values [2][][]float64 // by program and figure, one of each round
	for i := range values {
		values[i] = make([][]float64, len(compared()))
	}
	for round := range s.runs {
		order := []int{0, 1}
		if round%2 == 1 { // what changes with time is the same for both
			slices.Reverse(order)
		}
		for _, i := range order {
			s.say("compare: round %d of %d, %s", round+1, s.runs, programs[i])
			tables, err := measured(ctx, s, programs[i], dir)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", programs[i], err)
			}
			for n, f := range compared() {
				if v, found := f.in(tables); found {
					values[i][n] = append(values[i][n], v)
				}
			}
		}
	}
	return ratios(s, values), nil
}

// checkOut writes the commit to a folder.
func checkOut(ctx context.Context, s *setup, tree string) error {
	if _, err := os.Stat(tree); err == nil { // of a run that was killed
		if _, err := output(ctx, ".", "git", "worktree", "remove", "--force", tree); err != nil {
			return err
		}
	}
	_, err := output(ctx, ".", "git", "worktree", "add", "--force", "--detach", tree, s.base)
	return err
}

// measured returns the tables of a program's own benchmark, and that of its idle cluster.
func measured(ctx context.Context, s *setup, program, dir string) ([]figures.Table, error) {
	text, err := output(ctx, dir, program, "bench", "submit", "run", "start", "failover", "memory", "--md", "--dir", dir, "--runs", "1",
		"--clients", "1,64", "--time", "3s", "--jobs", strconv.Itoa(s.jobs), "--trials", strconv.Itoa(s.trials))
	if err != nil {
		return nil, err
	}
	idle, err := measureIdle(ctx, program, dir)
	if err != nil {
		return nil, fmt.Errorf("idle: %w", err)
	}
	return append(tablesOf(text), *idle), nil
}

// output runs a command in a folder and returns its output. Its error has the last lines of what it wrote.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	var said strings.Builder
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // the programs that are measured
	c.Dir, c.Stderr = dir, &said
	out, err := c.Output()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(said.String()), "\n")
		return "", fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, strings.Join(lines[max(0, len(lines)-3):], "; "))
	}
	return string(out), nil
}

// tablesOf reads tables from Markdown.
func tablesOf(text string) (list []figures.Table) {
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if title, is := strings.CutPrefix(line, "### "); is {
			list = append(list, figures.Table{Title: title})
			continue
		}
		if len(list) == 0 || !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "| -") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		if t := &list[len(list)-1]; t.Head == nil {
			t.Head = cells
		} else {
			t.Add(cells...)
		}
	}
	return list
}

// in finds the figure in some tables.
func (f *figure) in(tables []figures.Table) (float64, bool) {
	for i := range tables {
		t := &tables[i]
		column := slices.IndexFunc(t.Head, func(head string) bool { return strings.HasPrefix(head, f.column) })
		if !strings.HasPrefix(t.Title, f.table) || column < 0 {
			continue
		}
		for _, row := range t.Rows {
			if len(row) == len(t.Head) && f.is(t.Head, row) {
				return amount(row[column])
			}
		}
	}
	return 0, false
}

// is reports whether the figure is in a row.
func (f *figure) is(head, row []string) bool {
	for name, want := range f.row { // order-free: all must hold
		if at := slices.Index(head, name); at >= 0 && row[at] != want {
			return false
		}
	}
	return true
}

// amount returns the number of a cell in the base unit of its kind: seconds, bytes, or one.
func amount(cell string) (float64, bool) {
	number, unit, _ := strings.Cut(cell, " ")
	v, err := strconv.ParseFloat(strings.ReplaceAll(number, ",", ""), 64)
	by, known := map[string]float64{
		"": 1, "%": 0.01, "µs": 1e-6, "ms": 1e-3, "s": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "kB": 1e3, "MB": 1e6, "GB": 1e9,
	}[unit]
	return v * by, err == nil && known
}

// ratios returns the table of both programs.
func ratios(s *setup, values [2][][]float64) *figures.Table {
	out := &figures.Table{
		Title: fmt.Sprintf("Then and now: %s and this tree, median of %d rounds in turns", s.base, s.runs),
		Head:  []string{"figure", "then", "now", "now / then", "lowest", "highest"},
	}
	for n, f := range compared() {
		then, now := values[0][n], values[1][n]
		row := []string{f.what, spoken(f.what, then), spoken(f.what, now), "", "", ""}
		if len(then) == len(now) && len(now) > 0 {
			var each []float64
			for i := range now {
				each = append(each, now[i]/then[i])
			}
			_, least, most := figures.Spread(each)
			for i, v := range []float64{figures.Median(now) / figures.Median(then), least, most} {
				row[3+i] = strconv.FormatFloat(v, 'f', 2, 64)
			}
		}
		out.Add(row...)
	}
	return out
}

// spoken returns the median of some values in the unit of a figure.
func spoken(what string, values []float64) string {
	v := figures.Median(values)
	switch {
	case len(values) == 0:
		return "none"
	case strings.Contains(what, "a second"):
		return figures.Count(v)
	case strings.Contains(what, "memory"):
		return fmt.Sprintf("%.1f MiB", v/(1<<20))
	case strings.Contains(what, "of a core"):
		return fmt.Sprintf("%.2f %%", 100*v)
	case v < 2e-3:
		return fmt.Sprintf("%.0f µs", 1e6*v)
	}
	return fmt.Sprintf("%.2f ms", 1e3*v)
}
