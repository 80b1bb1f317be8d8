// Package partition is the tables of partitions and QOS among the cluster's settings: what their names mean for jobs in Slurm's language.
//
//berth:pure
package partition

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// Entry is what a name of a partition or of a QOS means for jobs in Slurm's language that give the name. A zero field sets nothing.
type Entry struct {
	Name        string
	Default     bool          // of jobs that name none
	Constraint  string        // of the nodes' labels, in addition to that of the job
	MaxTime     time.Duration // the longest time limit; a job without one gets DefaultTime, else this
	DefaultTime time.Duration
	MaxGPUs     uint32      // of a job
	MaxNodes    uint32      // of a job
	Class       model.Class // of jobs that set no priority
}

// Form says how a table is written.
const Form = "entries joined by ;, each a name and any of default, constraint=LABELS, max_time=TIME, default_time=TIME, max_gpus=N, max_nodes=N and " +
	"priority=low, normal or high, such as: gpu default max_time=2d; debug max_time=30m priority=high"

// Parse reads a table of partitions. The error names the word that is wrong.
func Parse(text string) (list []Entry, err error) {
	if len(text) > model.MaxData {
		return nil, fmt.Errorf("the table has %d bytes; it may have %d", len(text), model.MaxData)
	}
	defaults := 0
	names := map[string]bool{}
	for entry := range strings.SplitSeq(text, ";") {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		p := Entry{Name: words[0]}
		if !model.Name(p.Name) || strings.Contains(p.Name, "=") || names[p.Name] {
			return nil, fmt.Errorf("%q is no name of an entry: it must be a name that no other entry has", p.Name)
		}
		names[p.Name] = true
		for _, word := range words[1:] {
			if err := p.set(word); err != nil {
				return nil, fmt.Errorf("%s: %w", p.Name, err)
			}
		}
		if p.Default {
			defaults++
		}
		if p.MaxTime > 0 && p.DefaultTime > p.MaxTime {
			return nil, fmt.Errorf("%s: default_time is longer than max_time", p.Name)
		}
		list = append(list, p)
	}
	if defaults > 1 {
		return nil, fmt.Errorf("%d entries are the default: only one can be", defaults)
	}
	return list, nil
}

// set reads one word of an entry.
func (p *Entry) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "default":
		if p.Default = value == ""; !p.Default {
			err = errValue
		}
	case "constraint":
		var labels model.Constraint
		if labels, err = model.ParseConstraint(value); err == nil {
			p.Constraint = labels.String()
		}
	case "max_time":
		p.MaxTime, err = span(value)
	case "default_time":
		p.DefaultTime, err = span(value)
	case "max_gpus":
		p.MaxGPUs, err = count(value, model.MaxGPUs)
	case "max_nodes":
		p.MaxNodes, err = count(value, model.MaxRanks)
	case "priority":
		for c := model.ClassLow; c < model.ClassCritical; c++ {
			if c.String() == value {
				p.Class = c
				return nil
			}
		}
		err = errValue
	default:
		return fmt.Errorf("%q is not known", model.Clip(word))
	}
	if err != nil {
		return fmt.Errorf("%q: %w", model.Clip(word), err)
	}
	return nil
}

var errValue = errors.New("the value is not allowed")

// span reads a time such as 30m, 12h or 2d.
func span(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		if d := time.Duration(n) * 24 * time.Hour; err == nil && n > 0 && d <= model.MaxDuration {
			return d, nil
		}
		return 0, errValue
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute || d > model.MaxDuration {
		return 0, errValue
	}
	return d, nil
}

func count(text string, most uint64) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 || n > most {
		return 0, errValue
	}
	return uint32(n), nil
}

// Find returns the entry of a name: of a list with commas the first that is known, and without a name the default. nil: there is none.
func Find(table []Entry, names string) *Entry {
	for name := range strings.SplitSeq(names, ",") {
		for i := range table {
			if e := &table[i]; e.Name == name || names == "" && e.Default {
				return e
			}
		}
	}
	return nil
}
