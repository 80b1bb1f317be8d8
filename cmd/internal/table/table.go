// Package table prints output for people: aligned columns, durations, sizes and lists of GPUs in
// few characters.
//
// Text that users have written is stripped of control characters, so that a job's name cannot move
// the cursor of the terminal that lists it.
//
//berth:single
package table

import (
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

// Table collects rows and prints them aligned.
type Table struct {
	head  []string
	rows  [][]string
	right map[int]bool
	short map[int]bool // columns that are cut where lines are not
}

// New returns a table with these headings. A heading that begins with > is that of a column of
// numbers, which is aligned to the right.
func New(headings ...string) *Table {
	t := &Table{right: map[int]bool{}, short: map[int]bool{}}
	for i, h := range headings {
		name, number := strings.CutPrefix(h, ">")
		t.head = append(t.head, name)
		t.right[i] = number
	}
	return t
}

// mostText is the width of a column that is cut where lines have no limit, in columns of a terminal.
const mostText = 40

// Shorten has a column cut to a sensible width where the output is no terminal, and was not asked for as a whole: a text of a user in it
// may be a whole command.
func (t *Table) Shorten(heading string) *Table {
	t.short[slices.Index(t.head, heading)] = true
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

// Len returns the number of rows.
func (t *Table) Len() int { return len(t.rows) }

// WriteTo prints the table: to a terminal so that its lines fit, else at full width.
func (t *Table) WriteTo(w io.Writer) (int64, error) {
	columns := terminal.Columns(w)
	if columns == 0 && !terminal.IsWhole(w) {
		for _, row := range t.rows {
			for i := range t.short { // order-free: each by itself
				row[i] = Cut(row[i], mostText)
			}
		}
	}
	n, err := io.WriteString(w, t.Fit(columns))
	return int64(n), err
}

// String returns the table as text, with a line break at its end.
func (t *Table) String() string { return t.Fit(0) }

// Fit is String with lines of at most a number of columns; 0: no limit. The widest columns of text
// are cut first, which … marks.
func (t *Table) Fit(columns int) string {
	lines := strings.Split(t.render(t.widths(columns)), "\n")
	for i := range lines {
		if lines[i] = strings.TrimRight(lines[i], " "); columns > 0 {
			lines[i] = Cut(lines[i], columns)
		}
	}
	return strings.Join(lines, "\n") + "\n"
}

// gap is how many columns lie between two of a table's columns.
const gap = 2

// leastWidth is the width to which a column of text can be cut, if its heading is not wider.
const leastWidth = 8

// widths returns how wide each column may be so that a line has at most a number of columns; nil:
// no limit.
func (t *Table) widths(columns int) []int {
	natural, least := make([]int, len(t.head)), make([]int, len(t.head))
	total := -gap
	for i, h := range t.head {
		natural[i] = Width(h)
		for _, r := range t.rows {
			if i < len(r) {
				natural[i] = max(natural[i], Width(r[i]))
			}
		}
		if least[i] = natural[i]; !t.right[i] {
			least[i] = min(natural[i], max(Width(h), leastWidth))
		}
		total += natural[i] + gap
	}
	if columns <= 0 || total <= columns {
		return nil
	}
	for total > columns { // from the widest one that can be cut
		widest := -1
		for i := range natural {
			if natural[i] > least[i] && (widest < 0 || natural[i] > natural[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		natural[widest]--
		total--
	}
	return natural
}

// Width returns how many columns a text takes on a terminal: a wide character takes two.
func Width(s string) int { return text.StringWidthWithoutEscSequences(s) }

// Cut returns a text of at most a number of columns; a longer one ends in ….
func Cut(s string, columns int) string {
	if Width(s) <= columns {
		return s
	}
	width, end := 0, 0
	for i, r := range s {
		if width += text.RuneWidth(r); width > columns-1 {
			break
		}
		end = i + utf8.RuneLen(r)
	}
	return s[:end] + "…"
}

// render returns the table with columns of these widths; nil: no limit.
func (t *Table) render(widths []int) string {
	p := table.NewWriter()
	p.SetStyle(plain())
	p.AppendHeader(row(t.head))
	for _, r := range t.rows {
		p.AppendRow(row(cut(r, widths)))
	}
	var columns []table.ColumnConfig
	for i := range t.head {
		if t.right[i] {
			columns = append(columns, table.ColumnConfig{Number: i + 1, Align: text.AlignRight, AlignHeader: text.AlignRight})
		}
	}
	p.SetColumnConfigs(columns)
	return p.Render()
}

// cut returns cells of at most these widths; nil: no limit.
func cut(cells []string, widths []int) []string {
	if widths == nil {
		return cells
	}
	out := slices.Clone(cells)
	for i := range out {
		out[i] = Cut(out[i], widths[i])
	}
	return out
}

func row(cells []string) table.Row {
	r := make(table.Row, len(cells))
	for i, c := range cells {
		r[i] = c
	}
	return r
}

// plain returns a style without lines: columns two spaces apart, like kubectl's.
func plain() table.Style {
	s := table.StyleDefault
	s.Options = table.OptionsNoBordersAndSeparators
	s.Box.PaddingLeft, s.Box.PaddingRight = "", "  "
	s.Format.Header = text.FormatDefault
	return s
}

// Clean returns text on one line without control characters.
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

// Short returns text of at most n runes; a longer one ends in "...".
func Short(s string, n int) string {
	r := []rune(Clean(s))
	if len(r) <= n {
		return string(r)
	}
	return string(r[:max(0, n-3)]) + "..."
}
