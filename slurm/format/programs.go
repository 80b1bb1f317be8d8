package format

import (
	"fmt"
	"strings"
)

// The formats that the programs use by default.
const (
	DefaultSqueue = "%.18i %.9P %.8j %.8u %.2t %.10M %.6D %R"
	DefaultSinfo  = "%#9P %.5a %.10l %.6D %.6t %N"
	DefaultSacct  = "jobid,jobname,partition,account,alloccpus,state,exitcode"
	BriefSacct    = "jobid,state,exitcode" // with -b
)

// Squeue reads the format of squeue's option -o.
func Squeue(text string) (Format, error) { return parseLetters("squeue", text, SqueueFields()) }

// Sinfo reads the format of sinfo's option -o.
func Sinfo(text string) (Format, error) { return parseLetters("sinfo", text, SinfoFields()) }

// SqueueNames reads the format of squeue's option -O: NAME[:[.][N][SUFFIX]], joined by commas. A column has 20 characters by
// default.
func SqueueNames(text string) (Format, error) { return parseNames("squeue", text, SqueueFields()) }

// SinfoNames reads the format of sinfo's option -O, which is like that of squeue.
func SinfoNames(text string) (Format, error) { return parseNames("sinfo", text, SinfoFields()) }

func parseNames(program, text string, fields []Field) (Format, error) {
	const usual = 20
	var f Format
	for part := range strings.SplitSeq(text, ",") {
		name, layout, given := strings.Cut(strings.TrimSpace(part), ":")
		field, ok := byName(fields, name, false)
		if !ok {
			return Format{}, &Error{program, fmt.Sprintf("the format %q has %q, which is no column; %s", clip(text), clip(name), namesOf(fields))}
		}
		c := Column{Key: field.Key, Title: field.Title, Width: usual}
		if given {
			if c.Right = strings.HasPrefix(layout, "."); c.Right {
				layout = layout[1:]
			}
			digits := layout[:len(layout)-len(strings.TrimLeft(layout, "0123456789"))]
			c.Suffix = layout[len(digits):]
			n, err := width(digits)
			if err != nil {
				return Format{}, &Error{program, fmt.Sprintf("the width %q in the format %q is not a number up to %d", digits, clip(text), MaxWidth)}
			}
			if digits != "" {
				c.Width = n
			}
		}
		f.Columns = append(f.Columns, c)
	}
	return f, nil
}

// Parsable says how sacct, sacctmgr and sshare separate columns.
type Parsable int

// The ways.
const (
	Padded   Parsable = iota // columns with widths
	Trailing                 // -p: a delimiter after each column
	Between                  // -P: a delimiter between columns
)

// Sacct reads the format of sacct's option -o: NAME[%[-]N], joined by commas. Names may be shortened. An empty
// delimiter is |.
func Sacct(text string, parsable Parsable, delimiter string) (Format, error) {
	return parseSized("sacct", text, SacctFields(), parsable, delimiter)
}

// Sacctmgr reads the word format= of sacctmgr, which is like the format of sacct.
func Sacctmgr(text string, parsable Parsable) (Format, error) {
	return parseSized("sacctmgr", text, SacctmgrFields(), parsable, "")
}

// Sshare reads the format of sshare's option -o, which is like that of sacct.
func Sshare(text string, parsable Parsable) (Format, error) {
	return parseSized("sshare", text, SshareFields(), parsable, "")
}

func parseSized(program, text string, fields []Field, parsable Parsable, delimiter string) (Format, error) {
	f := Format{style: style{dashes: parsable == Padded, plus: true}}
	if parsable != Padded {
		if f.style.delimiter = delimiter; delimiter == "" {
			f.style.delimiter = "|"
		}
		f.style.trailing = parsable == Trailing
	}
	for part := range strings.SplitSeq(text, ",") {
		name, digits, sized := strings.Cut(strings.TrimSpace(part), "%")
		if name == "" {
			continue
		}
		field, ok := byName(fields, name, true)
		if !ok {
			return Format{}, &Error{program, fmt.Sprintf("the format %q has %q, which is no column; %s", clip(text), clip(name), namesOf(fields))}
		}
		c := Column{Key: field.Key, Title: field.Title, Width: field.Width, Right: field.Width > 0, Suffix: " "}
		if !c.Right {
			c.Width = -field.Width
		}
		if sized {
			number, left := strings.CutPrefix(digits, "-")
			n, err := width(number)
			if err != nil || n == 0 {
				return Format{}, &Error{program, fmt.Sprintf("the width %q in the format %q is not a number up to %d", clip(digits), clip(text), MaxWidth)}
			}
			c.Width, c.Right = n, !left
		}
		f.Columns = append(f.Columns, c)
	}
	if len(f.Columns) == 0 {
		return Format{}, &Error{program, fmt.Sprintf("the format %q has no column; %s", clip(text), namesOf(fields))}
	}
	return f, nil
}
