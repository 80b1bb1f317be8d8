package table

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// CSV writes comma-separated values in which spreadsheets find text and numbers only. Users choose
// the names in some cells, and a spreadsheet runs a cell that begins with = or another sign of a
// formula: such a cell gets an apostrophe in front.
type CSV struct{ to *csv.Writer }

// NewCSV returns a CSV that writes to w.
func NewCSV(w io.Writer) *CSV { return &CSV{csv.NewWriter(w)} }

// Write writes one line. Errors are those of [CSV.Flush].
func (c *CSV) Write(cells ...string) {
	safe := make([]string, len(cells))
	for i, cell := range cells {
		safe[i] = csvCell(cell)
	}
	_ = c.to.Write(safe) // Flush returns the error
}

// Flush writes buffered lines, and returns the first error.
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

// csvCell returns a cell that spreadsheets take for text; a number stays one. The list of signs is
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
