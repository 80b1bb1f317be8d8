package sbatch

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxScript is the size up to which Slurm accepts a script, in bytes. What accepts the job may have a lower one.
const MaxScript = 4 << 20

// mark begins a directive. Like Slurm, this package takes it at the beginning of a line only, and what follows without a
// blank, too.
const mark = "#SBATCH"

// Error is a fault of a script, a variable or a command line.
type Error struct {
	Where   string // such as "line 4 of the script"; empty: the script as a whole
	Option  string // such as --mem; empty: no option
	Problem string // what is wrong, and the remedy
}

// Error returns place, option and problem.
func (e *Error) Error() string {
	var b strings.Builder
	for _, part := range []string{e.Where, e.Option} {
		if part != "" {
			b.WriteString(part)
			b.WriteString(": ")
		}
	}
	return b.String() + e.Problem
}

// directive is the words of one #SBATCH line.
type directive struct {
	line  int // from 1 on
	words []string
	cut   bool // a # inside of a word began a comment
}

func (d directive) where() string { return lineOf(d.line) }

func lineOf(number int) string { return fmt.Sprintf("line %d of the script", number) }

// checkScript looks at a script as a whole.
func checkScript(script []byte) error {
	refuse := func(problem string) error { return &Error{Problem: problem} }
	const first = "the first line must be #! and the path of a program, such as #!/bin/bash"
	switch {
	case len(script) == 0:
		return refuse("the script is empty; " + first)
	case len(script) > MaxScript:
		return refuse(fmt.Sprintf("the script has %d bytes; at most %d are accepted: keep data in files of their own", len(script), MaxScript))
	case len(bytes.TrimSpace(script)) == 0:
		return refuse("the script has blanks only; " + first)
	case bytes.HasPrefix(script, []byte("\xef\xbb\xbf")):
		return refuse("the script begins with a byte order mark, so that its first line is not read: save it as UTF-8 without one")
	case !bytes.HasPrefix(script, []byte("#!")):
		line, _, _ := bytes.Cut(script, []byte("\n"))
		return refuse(fmt.Sprintf("this is no batch script: %s, not %q", first, clip(string(line))))
	case bytes.IndexByte(script, 0) >= 0:
		return refuse("the script has a zero byte: it is a program or is damaged; submit a script that calls the program")
	}
	if !utf8.Valid(script) {
		at := 0
		for r, size := utf8.DecodeRune(script); r != utf8.RuneError || size > 1; r, size = utf8.DecodeRune(script[at:]) {
			at += size
		}
		return &Error{
			Where:   lineOf(1 + bytes.Count(script[:at], []byte("\n"))),
			Problem: "the line is not UTF-8, in which scripts are passed on: convert the script, such as by iconv -t UTF-8",
		}
	}
	if at := bytes.Index(script, []byte("\r\n")); at >= 0 {
		return &Error{
			Where:   lineOf(1 + bytes.Count(script[:at], []byte("\n"))),
			Problem: `the line ends as on DOS (\r\n), which a shell takes for a part of the command: convert the script, such as by dos2unix or sed -i 's/\r$//'`,
		}
	}
	return nil
}

// directives returns the #SBATCH lines up to the first command, and the number of the first #PBS or #BSUB line, or 0.
func directives(script []byte) (all []directive, foreign int, err error) {
	number := 0
	for line := range bytes.Lines(script) {
		number++
		text := strings.TrimSuffix(string(line), "\n")
		rest, found := strings.CutPrefix(text, mark)
		if !found {
			trimmed := strings.TrimSpace(text)
			if trimmed != "" && trimmed[0] != '#' {
				break // the first command
			}
			if foreign == 0 && (strings.HasPrefix(text, "#PBS") || strings.HasPrefix(text, "#BSUB")) {
				foreign = number
			}
			continue
		}
		d := directive{line: number}
		if d.words, d.cut, err = split(rest); err != nil {
			return nil, 0, &Error{Where: d.where(), Problem: err.Error()}
		}
		for i, word := range d.words {
			if word == ":" || i == 0 && (word == "hetjob" || word == "packjob") {
				return nil, 0, &Error{Where: d.where(), Problem: heterogeneous(word)}
			}
		}
		all = append(all, d)
	}
	return all, foreign, nil
}

func heterogeneous(word string) string {
	return fmt.Sprintf("%q begins a part of a heterogeneous job, which is refused: all nodes of a job are alike; submit a job for each part", word)
}

// split divides a line into words as Slurm does: at blanks outside of quotes. A backslash takes the next character as it
// is, within quotes, too. An unquoted # begins a comment, even within a word.
func split(line string) (words []string, cut bool, err error) {
	rest := line
	for {
		rest = strings.TrimLeft(rest, " \t\v\f\r")
		if rest == "" || rest[0] == '#' {
			return words, cut, nil
		}
		var word string
		var comment bool
		if word, rest, comment, err = cutWord(rest); err != nil {
			return nil, false, fmt.Errorf("%w in %q", err, clip(strings.TrimSpace(line)))
		}
		words = append(words, word)
		if comment {
			return words, true, nil
		}
	}
}

// cutWord returns the first word, without its quotes, and whether a comment ends it.
func cutWord(line string) (word, rest string, comment bool, err error) {
	var b strings.Builder
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line):
			i++
			b.WriteByte(line[i])
		case c == '\\':
			// A backslash at the end of a line is dropped.
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && strings.IndexByte(" \t\v\f\r", c) >= 0:
			return b.String(), line[i:], false, nil
		case quote == 0 && c == '#':
			return b.String(), "", true, nil
		default:
			b.WriteByte(c)
		}
	}
	if quote != 0 {
		return "", "", false, fmt.Errorf("the quote %c is not closed", quote)
	}
	return b.String(), "", false, nil
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}
