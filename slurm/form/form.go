// Package form parses the values of Slurm's options: times, memory, numbers of nodes, GPUs, signals, arrays,
// dependencies, instants, job ids and constraints. Each parser returns an error that quotes the value and names
// the allowed form. The forms are those of the manual pages of sbatch, scancel and squeue.
//
//berth:single
package form

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrForm is wrapped by every error of this package.
var ErrForm = errors.New("wrong form")

// formError is an [ErrForm] whose text does not repeat it.
type formError string

func (e formError) Error() string { return string(e) }

func (formError) Is(target error) bool { return target == ErrForm }

// bad returns an error that begins with the quoted value.
func bad(text, format string, args ...any) error {
	return formError(strconv.Quote(clip(text)) + " " + fmt.Sprintf(format, args...))
}

// clip shortens a text for a message.
func clip(text string) string {
	const most = 80
	if len(text) > most {
		return text[:most] + "..."
	}
	return text
}

// MaxCount is the largest number that this package reads as a count.
const MaxCount = 1 << 30

var errCount = errors.New("not a count")

// digits parses decimal digits and nothing else, up to MaxCount.
func digits(text string) (int, error) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, errCount
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n > MaxCount {
		return 0, errCount
	}
	return int(n), nil
}

// ParseCount parses a whole number of at least the given one, up to [MaxCount].
func ParseCount(text string, least int) (int, error) {
	n, err := digits(text)
	if err != nil || n < least {
		return 0, bad(text, "is not a whole number from %d to %d", least, MaxCount)
	}
	return n, nil
}
