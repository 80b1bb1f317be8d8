// Package format prints tables in the forms of Slurm's squeue, sinfo, sacct, sacctmgr and sshare: it reads the values of their options
// for formats, and prints rows of which the caller returns each column by its key. It also knows Slurm's words for the
// states of jobs and nodes.
//
//berth:single
package format

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Column is one column of a table.
type Column struct {
	Key    string // what it shows, as the key of a [Field]
	Title  string // in the header
	Width  int    // characters; 0: as wide as each value
	Right  bool   // values stand at the right end
	Fit    bool   // as wide as the widest value, and at least as Width
	Suffix string // text after the column, in each line
}

// Format is the columns of a table.
type Format struct {
	Prefix  string // text in front of each line
	Columns []Column
	style   style
}

// style is what the programs do differently.
type style struct {
	dashes    bool   // a line of dashes below the header
	plus      bool   // what is cut off is marked by +
	delimiter string // between columns without padding; empty: columns have widths
	trailing  bool   // a delimiter after the last column, too
}

// MaxWidth is the largest width of a column.
const MaxWidth = 4096

// Field is what a column may show.
type Field struct {
	Key    string   // by which the caller returns a value, such as jobid
	Letter byte     // in formats with %, or 0
	Names  []string // in formats with names; the key in any case
	Title  string
	Width  int // of sacct, sacctmgr and sshare; below 0: values stand at the left end
}

// Error is a fault of a format.
type Error struct {
	Program string // squeue, sinfo, sacct, sacctmgr or sshare
	Problem string
}

// Error returns the program and the problem.
func (e *Error) Error() string { return e.Program + ": " + e.Problem }

// parseLetters reads a format with %: %[.][N]LETTER and text between the columns.
func parseLetters(program, text string, fields []Field) (Format, error) {
	var f Format
	rest := text
	for rest != "" {
		before, after, found := strings.Cut(rest, "%")
		if n := len(f.Columns); n > 0 {
			f.Columns[n-1].Suffix += before
		} else {
			f.Prefix += before
		}
		if !found {
			break
		}
		var c Column
		if c.Fit = strings.HasPrefix(after, "#"); c.Fit {
			after = after[1:]
		}
		if c.Right = strings.HasPrefix(after, "."); c.Right {
			after = after[1:]
		}
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		after = after[len(digits):]
		var err error
		if c.Width, err = width(digits); err != nil {
			return Format{}, &Error{program, fmt.Sprintf("the width %q in the format %q is not a number up to %d", digits, clip(text), MaxWidth)}
		}
		if after == "" {
			return Format{}, &Error{program, fmt.Sprintf("the format %q ends where a letter is expected; %s", clip(text), lettersOf(fields))}
		}
		field, ok := byLetter(fields, after[0])
		if !ok {
			return Format{}, &Error{program, fmt.Sprintf("the format %q has %%%c, which is no column; %s", clip(text), after[0], lettersOf(fields))}
		}
		c.Key, c.Title = field.Key, field.Title
		f.Columns = append(f.Columns, c)
		rest = after[1:]
	}
	if len(f.Columns) == 0 {
		return Format{}, &Error{program, fmt.Sprintf("the format %q has no column; %s", clip(text), lettersOf(fields))}
	}
	return f, nil
}

func width(digits string) (int, error) {
	if digits == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n > MaxWidth {
		return 0, strconv.ErrRange
	}
	return n, nil
}

func byLetter(fields []Field, letter byte) (Field, bool) {
	for _, f := range fields {
		if f.Letter == letter && letter != 0 {
			return f, true
		}
	}
	return Field{}, false
}

// lettersOf lists the letters that a program knows.
func lettersOf(fields []Field) string {
	var b strings.Builder
	b.WriteString("columns are")
	for _, f := range fields {
		if f.Letter != 0 {
			fmt.Fprintf(&b, " %%%c", f.Letter)
		}
	}
	return b.String()
}

// byName finds a field by a name or, if beginnings are allowed, by the beginning of one; the first one counts.
func byName(fields []Field, name string, beginnings bool) (Field, bool) {
	lower := strings.ToLower(name)
	for _, f := range fields {
		for _, full := range append([]string{f.Key}, f.Names...) {
			if strings.ToLower(full) == lower {
				return f, true
			}
		}
	}
	if !beginnings || lower == "" {
		return Field{}, false
	}
	for _, f := range fields {
		for _, full := range append([]string{f.Key}, f.Names...) {
			if strings.HasPrefix(strings.ToLower(full), lower) {
				return f, true
			}
		}
	}
	return Field{}, false
}

// namesOf lists the names that a program knows.
func namesOf(fields []Field) string {
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Key
		if len(f.Names) > 0 {
			names[i] = f.Names[0]
		}
	}
	return "columns are " + strings.Join(names, ", ")
}

// Print returns the lines of a table, each with its end. Each row returns the value of a column by its key.
func (f Format) Print(header bool, rows []func(key string) string) string {
	columns := f.fitted(header, rows)
	var b strings.Builder
	if header {
		f.line(&b, columns, func(c Column) string { return c.Title })
		if f.style.dashes {
			f.line(&b, columns, func(c Column) string { return strings.Repeat("-", c.Width) })
		}
	}
	for _, row := range rows {
		f.line(&b, columns, func(c Column) string { return plain(row(c.Key)) })
	}
	return b.String()
}

// plain removes line ends, which would break the table.
func plain(value string) string {
	return strings.NewReplacer("\n", " ", "\r", " ").Replace(value)
}

// fitted returns the columns with the widths of those that fit their values.
func (f Format) fitted(header bool, rows []func(key string) string) []Column {
	columns := append([]Column(nil), f.Columns...)
	for i, c := range columns {
		if !c.Fit {
			continue
		}
		if header {
			columns[i].Width = max(columns[i].Width, utf8.RuneCountInString(c.Title))
		}
		for _, row := range rows {
			columns[i].Width = max(columns[i].Width, utf8.RuneCountInString(row(c.Key)))
		}
	}
	return columns
}

func (f Format) line(b *strings.Builder, columns []Column, value func(Column) string) {
	b.WriteString(f.Prefix)
	for i, c := range columns {
		if f.style.delimiter == "" {
			b.WriteString(f.cell(value(c), c))
			b.WriteString(c.Suffix)
			continue
		}
		b.WriteString(value(c))
		if f.style.trailing || i < len(columns)-1 {
			b.WriteString(f.style.delimiter)
		}
	}
	b.WriteByte('\n')
}

// cell pads or cuts a value to the width of its column.
func (f Format) cell(value string, c Column) string {
	if c.Width == 0 {
		return value
	}
	n := utf8.RuneCountInString(value)
	if n > c.Width {
		runes := []rune(value)
		if f.style.plus {
			return string(runes[:c.Width-1]) + "+"
		}
		return string(runes[:c.Width])
	}
	padding := strings.Repeat(" ", c.Width-n)
	if c.Right {
		return padding + value
	}
	return value + padding
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
