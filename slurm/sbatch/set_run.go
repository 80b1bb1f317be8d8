package sbatch

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/berth-gpu/berth/slurm/form"
)

// span reads a time limit as Slurm takes it: whole minutes, and 0 for none.
func span(value string) (time.Duration, error) {
	d, err := form.ParseSpan(value)
	if d == 0 && err == nil {
		d = form.Unlimited
	}
	return form.WholeMinutes(d), err
}

func setOpenMode(o *Options, value string) error {
	n, err := choice(value, "append", "truncate")
	o.OpenMode = OpenAppend + OpenMode(n)
	return err
}

func setWrap(o *Options, value string) error {
	if strings.TrimSpace(value) == "" {
		return errors.New("there is no command: write --wrap=\"COMMAND\"")
	}
	o.Wrap, o.HasWrap = value, true
	return nil
}

func setVerbose(o *Options, value string) error {
	if value == "" {
		o.Verbose++
		return nil
	}
	n, err := form.ParseCount(value, 0)
	o.Verbose = n
	return err
}

// mailTypes lists the words of --mail-type.
const mailTypes = "NONE BEGIN END FAIL REQUEUE ALL INVALID_DEPEND STAGE_OUT TIME_LIMIT TIME_LIMIT_90 TIME_LIMIT_80 TIME_LIMIT_50 ARRAY_TASKS"

func setMailType(o *Options, value string) error {
	o.MailType = nil
	for word := range strings.SplitSeq(strings.ToUpper(value), ",") {
		if !slices.Contains(strings.Fields(mailTypes), word) {
			return fmt.Errorf("%q is not one of: %s", word, strings.Join(strings.Fields(mailTypes), ", "))
		}
		o.MailType = append(o.MailType, word)
	}
	return nil
}

// setExport reads ALL, NONE, NIL, or names and assignments that commas join. A value in quotes may have commas.
func setExport(o *Options, value string) error {
	e := Export{Given: true, Mode: ExportList}
	words, err := splitExport(value)
	if err != nil {
		return err
	}
	for _, word := range words {
		name, v, has := strings.Cut(word, "=")
		switch {
		case word == "ALL":
			e.Mode = ExportAll
		case (word == "NONE" || word == "NIL") && len(words) == 1:
			e.Mode = ExportNone
		case word == "NONE" || word == "NIL":
			return fmt.Errorf("%q has %s among other words; it stands alone", value, word)
		case !variableName(name):
			return fmt.Errorf("%q has %q, which is no name of a variable: write ALL, NONE, or names and NAME=value that commas join", value, name)
		default:
			e.List = append(e.List, Variable{Name: name, Value: v, HasValue: has})
		}
	}
	o.Export = e
	return nil
}

// variableName reports whether a text names an environment variable.
func variableName(name string) bool {
	return name != "" && !strings.ContainsAny(name, " \t\n\x00'\"") && strings.Trim(name[:1], "0123456789") != ""
}

// splitExport divides a list at commas outside of quotes, and removes the quotes.
func splitExport(value string) ([]string, error) {
	var words []string
	var b strings.Builder
	quote := rune(0)
	for _, r := range value {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote == 0 && r == ',':
			words = append(words, b.String())
			b.Reset()
		default:
			b.WriteRune(r)
		}
	}
	if quote != 0 {
		return nil, fmt.Errorf("%q has a quote %c that is not closed", value, quote)
	}
	return append(words, b.String()), nil
}
