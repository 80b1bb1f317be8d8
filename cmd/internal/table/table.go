// Package table prints what a person reads: aligned columns, durations, sizes and
// lists of GPUs in few characters.
//
// Text that users have written is stripped of control characters, so that a job's
// name cannot move the cursor of whoever lists it.
package table

import (
	"io"
	"strings"
	"unicode"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// Table collects rows and prints them aligned.
type Table struct {
	head  []string
	rows  [][]string
	right map[int]bool
}

// New makes a table with these headings. A heading that begins with > is that of a
// column of numbers, which is set flush right.
func New(headings ...string) *Table {
	t := &Table{right: map[int]bool{}}
	for i, h := range headings {
		name, number := strings.CutPrefix(h, ">")
		t.head = append(t.head, name)
		t.right[i] = number
	}
	return t
}

// Add adds a row. Empty cells are shown as -.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		if row[i] = Clean(c); row[i] == "" {
			row[i] = "-"
		}
	}
	t.rows = append(t.rows, row)
}

// Len is the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// WriteTo prints the table.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	n, err := io.WriteString(w, t.String())
	return int64(n), err
}

// String is the table as text, with a line break at its end.
func (t *Table) String() string {
	p := table.NewWriter()
	p.SetStyle(plain())
	p.AppendHeader(row(t.head))
	for _, r := range t.rows {
		p.AppendRow(row(r))
	}
	var columns []table.ColumnConfig
	for i := range t.head {
		if t.right[i] {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	p.SetColumnConfigs(columns)
	lines := strings.Split(p.Render(), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}

// plain is a style without lines: columns two spaces apart, as kubectl prints
// them.
func plain() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	return s
}

// Clean is text on one line without control characters.
func Clean(s string) string {
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r):
			return -1
		}
		return r
	}, s))
}

// Short is text of at most n runes; a longer one ends in "...".
func Short(s string, n int) string {
	r := []rune(Clean(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:max(0, n-3)]) + "..."
}
