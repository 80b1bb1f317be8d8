package bench

import (
	"fmt"
	"io"
	"strings"
	"time"

	shown "github.com/berth-gpu/berth/cmd/internal/table"
)

// table is what one part has measured.
type table struct {
	title string
	head  []string
	rows  [][]string
}

func (t *table) add(cells ...string) { t.rows = append(t.rows, cells) }

// print writes the table in columns, or as Markdown.
func (t *table) print(w io.Writer, markdown bool) error {
	if markdown {
		return t.markdown(w)
	}
	heads := make([]string, len(t.head))
	for i, h := range t.head {
		heads[i] = ">" + strings.ToUpper(h)
	}
	out := shown.New(heads...)
	for _, row := range t.rows {
		out.Add(row...)
	}
	_, err := fmt.Fprintf(w, "\n%s\n%s", t.title, out)
	return err
}

func (t *table) markdown(w io.Writer) error {
	fmt.Fprintf(w, "\n### %s\n\n", t.title)
	rule := make([]string, len(t.head))
	for i := range rule {
		rule[i] = "---:"
	}
	for _, row := range append([][]string{t.head, rule}, t.rows...) {
		if _, err := fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | ")); err != nil {
			return err
		}
	}
	return nil
}

// count prints a number with commas.
func count(v float64) string {
	s := fmt.Sprintf("%.0f", v)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// ms prints a time in milliseconds.
func ms(d time.Duration) string {
	v := float64(d) / float64(time.Millisecond)
	if v >= 100 {
		return fmt.Sprintf("%.0f ms", v)
	}
	return fmt.Sprintf("%.2f ms", v)
}
