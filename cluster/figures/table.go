// Package figures is what programs that measure have in common: tables of figures, their statistics, and the machine that they depend on.
package figures

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Table is what one part has measured.
type Table struct {
	Title string
	Head  []string
	Rows  [][]string
}

// Add adds a row.
func (t *Table) Add(cells ...string) { t.Rows = append(t.Rows, cells) }

// Markdown writes the table as Markdown.
func (t *Table) Markdown(w io.Writer) error {
	fmt.Fprintf(w, "\n### %s\n\n", t.Title)
	rule := make([]string, len(t.Head))
	for i := range rule {
		rule[i] = "---:"
	}
	for _, row := range append([][]string{t.Head, rule}, t.Rows...) {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// Count returns a number with commas.
func Count(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Millis returns a time in milliseconds.
func Millis(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v >= 100 {
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}
