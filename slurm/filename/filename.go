// Package filename expands the patterns by which Slurm names output files, such as slurm-%A_%4a.out.
//
//berth:single
package filename

import (
	"math"
	"strconv"
	"strings"
)

// The default patterns for standard output, of a job and of a task of an array.
const (
	Default      = "slurm-%j.out"
	DefaultArray = "slurm-%A_%a.out"
)

// NoTask is Values.ArrayTask of a job that is no array; Slurm writes it as 4294967294.
const NoTask = -1

// Batch is Values.Step of the batch script.
const Batch = "batch"

// maxWidth is the largest width of a number.
const maxWidth = 10

// Values are what the parts of a pattern stand for.
type Values struct {
	Job       uint64 // %j: the job, for a task of an array its own number
	ArrayJob  uint64 // %A: the array; 0: Job
	ArrayTask int    // %a: the task's number in the array, or NoTask
	Name      string // %x: of the job
	User      string // %u
	Step      string // %s: a step's number, or Batch; %J is JOB.STEP, and JOB for Batch
	Node      string // %N: name of the node, up to its first point
	NodeIndex int    // %n: of the node in the job, from 0 on
	Task      int    // %t: the rank of the task in its step, from 0 on
}

// When says when a part of a pattern is known.
type When int

// The instants, from the earliest on. What is known at one is known later, too.
const (
	AtSubmission When = iota // the name of the job, the user
	AtQueueing               // the numbers of the job and of its array's tasks
	AtStart                  // the step
	OnNode                   // the node: files of different nodes differ
	OfTask                   // the task: files of different tasks differ
)

// part is a piece of a pattern: literal text, or a letter with its width.
type part struct {
	text   string
	letter byte // 0: literal text
	width  int
}

// parts divides a pattern. A backslash in it turns all letters off and is itself removed.
func parts(pattern string) []part {
	if strings.Contains(pattern, `\`) {
		return []part{{text: strings.ReplaceAll(pattern, `\`, "")}}
	}
	var list []part
	for pattern != "" {
		before, after, found := strings.Cut(pattern, "%")
		if before != "" {
			list = append(list, part{text: before})
		}
		if !found {
			break
		}
		digits := after[:len(after)-len(strings.TrimLeft(after, "0123456789"))]
		rest := after[len(digits):]
		width, err := strconv.Atoi(digits)
		if rest == "" || known(rest[0]) < 0 || err != nil && digits != "" {
			list = append(list, part{text: "%" + digits}) // not a letter of ours: it stays as it is
			pattern = rest
			continue
		}
		list = append(list, part{letter: rest[0], width: min(width, maxWidth)})
		pattern = rest[1:]
	}
	return list
}

// known returns when a letter's value is known, or -1 for other letters.
func known(letter byte) When {
	switch letter {
	case '%', 'u', 'x':
		return AtSubmission
	case 'A', 'a', 'b', 'j':
		return AtQueueing
	case 'J', 's':
		return AtStart
	case 'N', 'n':
		return OnNode
	case 't':
		return OfTask
	}
	return -1
}

// Known returns from when on all parts of a pattern are known.
func Known(pattern string) When {
	latest := AtSubmission
	for _, p := range parts(pattern) {
		if p.letter != 0 {
			latest = max(latest, known(p.letter))
		}
	}
	return latest
}

// Expand returns the name of a file. Letters that are none of Slurm's stay as they are. The number between % and
// a letter is the least number of digits of a number; it has no effect on a text.
func Expand(pattern string, v Values) string {
	var b strings.Builder
	for _, p := range parts(pattern) {
		b.WriteString(v.value(p))
	}
	return b.String()
}

// value returns what a part stands for.
func (v Values) value(p part) string {
	array := v.ArrayJob
	if array == 0 {
		array = v.Job
	}
	task := uint64(math.MaxUint32 - 1)
	if v.ArrayTask >= 0 {
		task = uint64(v.ArrayTask)
	}
	switch p.letter {
	case '%':
		return "%"
	case 'u':
		return v.User
	case 'x':
		return v.Name
	case 'A':
		return pad(array, p.width)
	case 'a':
		return pad(task, p.width)
	case 'b':
		return pad(task%10, p.width)
	case 'j':
		return pad(v.Job, p.width)
	case 'J':
		if v.Step == Batch || v.Step == "" {
			return pad(v.Job, p.width)
		}
		return pad(v.Job, p.width) + "." + v.Step
	case 's':
		if n, err := strconv.ParseUint(v.Step, 10, 32); err == nil {
			return pad(n, p.width)
		}
		return v.Step
	case 'N':
		node, _, _ := strings.Cut(v.Node, ".")
		return node
	case 'n':
		return pad(uint64(max(v.NodeIndex, 0)), p.width)
	case 't':
		return pad(uint64(max(v.Task, 0)), p.width)
	}
	return p.text
}

// pad writes a number with zeros in front.
func pad(n uint64, width int) string {
	text := strconv.FormatUint(n, 10)
	return strings.Repeat("0", max(width-len(text), 0)) + text
}
