package form

import (
	"strconv"
	"strings"
	"time"
)

// DependencyKind is a condition on another job.
type DependencyKind string

// The kinds of dependencies.
const (
	After      DependencyKind = "after"      // the job has started or was canceled, and Delay has passed since
	AfterAny   DependencyKind = "afterany"   // the job has ended
	AfterCorr  DependencyKind = "aftercorr"  // the task of the same number has completed
	AfterNotOK DependencyKind = "afternotok" // the job has ended otherwise than completed
	AfterOK    DependencyKind = "afterok"    // the job has completed
	Singleton  DependencyKind = "singleton"  // earlier jobs of the same name and user have ended
)

// Condition is one condition of a dependency.
type Condition struct {
	Kind  DependencyKind
	Job   JobRef        // of all kinds but Singleton
	Delay time.Duration // of After: minutes after the start
}

// Dependency is the value of --dependency.
type Dependency struct {
	Any        bool // one condition is enough (joined by ?); else all are needed
	Conditions []Condition
}

const dependencyForms = "is no dependency: write KIND:JOB[:JOB...], joined by commas if all must hold or by ? if one is enough; " +
	"kinds are after, afterany, afterok, afternotok, aftercorr and singleton"

// ParseDependency parses afterok:1:2,after:3+5,singleton, or the same with ? in place of the commas. A job id alone
// stands for afterany, as in old scripts.
func ParseDependency(text string) (Dependency, error) {
	var d Dependency
	comma, question := len(splitOutside(text, ',')) > 1, strings.Contains(text, "?")
	if comma && question {
		return Dependency{}, bad(text, "mixes commas and question marks; use commas if all conditions must hold, and ? if one is enough")
	}
	d.Any = question
	separator := byte(',')
	if question {
		separator = '?'
	}
	for _, part := range splitOutside(text, separator) {
		list, err := parseConditions(part)
		if err != nil {
			return Dependency{}, err
		}
		d.Conditions = append(d.Conditions, list...)
	}
	return d, nil
}

func parseConditions(part string) ([]Condition, error) {
	name, rest, more := strings.Cut(part, ":")
	kind := DependencyKind(strings.ToLower(name))
	switch kind {
	case Singleton:
		if more {
			return nil, bad(part, "is no dependency: singleton has no job after it")
		}
		return []Condition{{Kind: Singleton}}, nil
	case "afterburstbuffer":
		return nil, bad(part, "waits for a burst buffer, which Berth does not have: write afterany:JOB")
	case "expand":
		return nil, bad(part, "adds GPUs to a running job, which Berth does not do: submit a job with the GPUs that are needed in all")
	case After, AfterAny, AfterCorr, AfterNotOK, AfterOK:
		if !more {
			return nil, bad(part, "has no job: write %s:JOB, such as %s:12", kind, kind)
		}
	default:
		if _, err := ParseJob(strings.TrimSpace(name)); err != nil {
			return nil, bad(part, "%s", dependencyForms)
		}
		kind, rest = AfterAny, part
	}
	var list []Condition
	for one := range strings.SplitSeq(rest, ":") {
		c, err := parseCondition(kind, strings.TrimSpace(one))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}

func parseCondition(kind DependencyKind, text string) (Condition, error) {
	c := Condition{Kind: kind}
	id, minutes, delayed := strings.Cut(text, "+")
	if delayed && kind != After {
		return Condition{}, bad(text, "has minutes after +, which only after:JOB+MINUTES has")
	}
	if delayed {
		n, err := digits(minutes)
		if err != nil || time.Duration(n)*time.Minute > MaxSpan {
			return Condition{}, bad(text, "has no valid time after +: whole minutes, as in after:12+5")
		}
		c.Delay = time.Duration(n) * time.Minute
	}
	var err error
	if c.Job, err = ParseJob(id); err != nil {
		return Condition{}, err
	}
	if c.Job.Step != "" {
		return Condition{}, bad(text, "names a step; a job waits for jobs: leave out the part after the point")
	}
	return c, nil
}

// String returns the dependency as [ParseDependency] reads it.
func (d Dependency) String() string {
	parts := make([]string, len(d.Conditions))
	for i, c := range d.Conditions {
		parts[i] = c.String()
	}
	if d.Any {
		return strings.Join(parts, "?")
	}
	return strings.Join(parts, ",")
}

// String returns the condition as [ParseDependency] reads it.
func (c Condition) String() string {
	text := string(c.Kind)
	if c.Kind != Singleton {
		text += ":" + c.Job.String()
	}
	if c.Delay > 0 {
		text += "+" + strconv.Itoa(int(c.Delay/time.Minute))
	}
	return text
}
