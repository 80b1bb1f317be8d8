package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Partition is what a name of a partition or of a QOS means for jobs in Slurm's language that give the name. A zero field sets nothing.
type Partition struct {
	Name        string
	Default     bool          // of jobs that name none
	Constraint  string        // of the nodes' labels, in addition to that of the job
	MaxTime     time.Duration // the longest time limit; a job without one gets DefaultTime, else this
	DefaultTime time.Duration
	MaxGPUs     uint32 // of a job
	MaxNodes    uint32 // of a job
	Class       Class  // of jobs that set no priority
}

// MaxPartitions is the most bytes of a table of partitions.
const MaxPartitions = 16 << 10

// partitionForm says how a table is written.
const partitionForm = "entries joined by ;, each a name and any of default, constraint=LABELS, max_time=TIME, default_time=TIME, max_gpus=N, max_nodes=N and " +
	"priority=low, normal or high, such as: gpu default max_time=2d; debug max_time=30m priority=high"

// ParsePartitions reads a table of partitions. The error names the word that is wrong.
func ParsePartitions(text string) (list []Partition, err error) {
	if len(text) > MaxPartitions {
		return nil, fmt.Errorf("the table has %d bytes; it may have %d", len(text), MaxPartitions)
	}
	defaults := 0
	names := map[string]bool{}
	for entry := range strings.SplitSeq(text, ";") {
		words := strings.Fields(entry)
		if len(words) == 0 {
			continue
		}
		p := Partition{Name: words[0]}
		if !Name(p.Name) || strings.Contains(p.Name, "=") || names[p.Name] {
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
func (p *Partition) set(word string) (err error) {
	key, value, _ := strings.Cut(word, "=")
	switch key {
	case "default":
		if p.Default = value == ""; !p.Default {
			err = errValue
		}
	case "constraint":
		var labels Constraint
		if labels, err = ParseConstraint(value); err == nil {
			p.Constraint = labels.String()
		}
	case "max_time":
		p.MaxTime, err = partitionTime(value)
	case "default_time":
		p.DefaultTime, err = partitionTime(value)
	case "max_gpus":
		p.MaxGPUs, err = partitionCount(value, MaxGPUs)
	case "max_nodes":
		p.MaxNodes, err = partitionCount(value, MaxRanks)
	case "priority":
		for c := ClassLow; c < ClassCritical; c++ {
			if c.String() == value {
				p.Class = c
				return nil
			}
		}
		err = errValue
	default:
		return fmt.Errorf("%q is not known", Clip(word))
	}
	if err != nil {
		return fmt.Errorf("%q: %w", Clip(word), err)
	}
	return nil
}

var errValue = fmt.Errorf("the value is not allowed")

// partitionTime reads a time such as 30m, 12h or 2d.
func partitionTime(text string) (time.Duration, error) {
	if days, is := strings.CutSuffix(text, "d"); is {
		n, err := strconv.ParseUint(days, 10, 16)
		if d := time.Duration(n) * 24 * time.Hour; err == nil && n > 0 && d <= MaxDuration {
			return d, nil
		}
		return 0, errValue
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < time.Minute || d > MaxDuration {
		return 0, errValue
	}
	return d, nil
}

func partitionCount(text string, most uint64) (uint32, error) {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 || n > most {
		return 0, errValue
	}
	return uint32(n), nil
}

// partitionTable is a table of partitions as a value of a parameter.
type partitionTable struct{ at *string }

func (f partitionTable) text() string { return *f.at }

func (f partitionTable) wrong() bool {
	_, err := ParsePartitions(*f.at)
	return err != nil
}

func (f partitionTable) set(text string) bool {
	_, err := ParsePartitions(text)
	if err == nil {
		*f.at = strings.TrimSpace(text)
	}
	return err == nil
}

// Unknown is what becomes of a job that names a partition or a QOS that the cluster does not have.
type Unknown uint8

// The choices.
const (
	UnknownNoted   Unknown = 0 // a warning; the name is shown with the job and has no effect
	UnknownRefused Unknown = 1
)

// String returns the choice's name.
func (u Unknown) String() string { return name(u+1, "", "note", "refuse") }
