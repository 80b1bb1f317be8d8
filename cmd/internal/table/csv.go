package table

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CSV writes comma-separated values that spreadsheets take for text and numbers only. Users choose
// names that stand in cells, and a spreadsheet runs a cell that begins with = or another of the
// signs that formulas begin with: an apostrophe stands before such a cell.
type CSV struct{ to *csv.Writer }

// NewCSV returns a CSV that writes to w.
func NewCSV(w io.Writer) *CSV { return &CSV{csv.NewWriter(w)} }

// Write writes one line. Errors are those of [CSV.Flush].
func (c *CSV) Write(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = csvCell(cell)
	}
	_ = c.to.Write(safe) // Flush says it
}

// Flush writes what is still held back, and returns the first error.
func (c *CSV) Flush() error {
	c.to.Flush()
	return c.to.Error()
}

// WriteCSV writes lines as CSV.
func WriteCSV(w io.Writer, lines [][]string) error {
	c := NewCSV(w)
	for _, line := range lines {
		c.Write(line...)
	}
	return c.Flush()
}

// csvCell returns a cell as spreadsheets take it for text; a number stays one. The list of signs is
// that of OWASP's "CSV Injection", with the wide forms that spreadsheets read as the same.
func csvCell(cell string) string {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(cell, " "))
	if !strings.ContainsRune("=+-@\t\r\n＝＋－＠", first) {
		return cell
	}
	if _, err := strconv.ParseFloat(cell, 64); err == nil {
		return cell
	}
	return "'" + cell
}
