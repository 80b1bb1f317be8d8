package step

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/filename"
	"github.com/berth-gpu/berth/slurm/run/link"
	"github.com/berth-gpu/berth/slurm/run/task"
	"github.com/berth-gpu/berth/slurm/srun"
)

// stream is what becomes of one of the standard streams.
type stream struct {
	node    link.Stream // what nodes do
	pattern string      // of the file that srun opens; empty: srun's own stream
}

// streams are the standard streams of a step's tasks, as srun sees them.
type streams struct {
	stdout, stderr, stdin stream
	source                *os.File // of the tasks' input; nil: srun sends none
	keep, label           bool

	width int // of labels
	to    [2]*target
}

// target is where output goes.
type target struct {
	file  *os.File
	last  int  // task of the last piece
	whole bool // that piece ended with a line
	fails bool // and it was reported
}

// newStreams returns what the options say of the streams. dir is srun's folder.
func newStreams(f *srun.Files, dir string) streams {
	s := streams{
		keep: f.Append, label: f.Label, stdout: newStream(f.Stdout, dir), stderr: newStream(f.Stderr, dir),
		stdin: newStream(f.Stdin, dir),
	}
	if f.Stderr == "" && f.Stdout != "" && f.Stdout != "all" {
		s.stderr = s.stdout
	}
	if s.stdin.pattern == "" && s.stdin.node == (link.Stream{}) && isNull(os.Stdin) {
		s.stdin.node.None = true
	}
	return s
}

func newStream(value, dir string) stream {
	task, err := strconv.ParseUint(value, 10, 31)
	switch {
	case value == "" || value == "all":
		return stream{}
	case value == "none" || value == os.DevNull:
		return stream{node: link.Stream{None: true}}
	case err == nil:
		return stream{node: link.Stream{One: true, Task: int(task)}}
	case filename.Known(value) >= filename.OnNode:
		if !filepath.IsAbs(value) {
			value = filepath.Join(strings.ReplaceAll(dir, "%", "%%"), value)
		}
		return stream{node: link.Stream{Pattern: value}}
	}
	return stream{pattern: value}
}

// isNull reports whether a file has no input: it is /dev/null, or closed.
func isNull(f *os.File) bool {
	var own, null unix.Stat_t
	if unix.Fstat(int(f.Fd()), &own) != nil {
		return true
	}
	return unix.Stat(os.DevNull, &null) == nil && own.Mode&unix.S_IFMT == unix.S_IFCHR && own.Rdev == null.Rdev
}

func absolute(path, dir string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// created reads the place of the step.
func (s *streams) created(body []byte, to *link.Created) bool {
	if json.Unmarshal(body, to) != nil {
		return false
	}
	s.width = len(strconv.Itoa(max(to.Tasks-1, 0)))
	return true
}

// open opens the files, when the number of the step is known.
func (s *streams) open(c *client) error {
	v := task.Values(c.file)
	v.Step = strconv.Itoa(c.created.Step)
	dir, err := os.Getwd()
	if err != nil {
		return err
	}
	for i, from := range []stream{s.stdout, s.stderr} {
		s.to[i] = &target{file: []*os.File{os.Stdout, os.Stderr}[i], whole: true}
		switch {
		case from.pattern == "":
		case i == 1 && from == s.stdout:
			s.to[1] = s.to[0]
		default:
			if s.to[i].file, err = task.Open(from.pattern, v, dir, s.keep); err != nil {
				return fmt.Errorf("Could not open %s file: %s", []string{"stdout", "stderr"}[i], why(err)) //nolint:staticcheck // the words of Slurm
			}
		}
	}
	switch in := s.stdin; {
	case in.pattern != "":
		if s.source, err = task.OpenInput(in.pattern, v, dir); err != nil {
			return fmt.Errorf("Could not open stdin file: %s", why(err)) //nolint:staticcheck // the words of Slurm
		}
	case !in.node.None && in.node.Pattern == "":
		s.source = os.Stdin
	}
	return nil
}

// why returns the error of a file with its path.
func why(err error) string {
	var path *os.PathError
	var number syscall.Errno
	if errors.As(err, &path) && errors.As(err, &number) {
		return path.Path + ": " + number.Error()
	}
	return err.Error()
}

// write writes output of a task.
func (s *streams) write(task, stream int, data []byte) {
	t := s.to[stream-link.Stdout]
	if t == nil {
		return // before the files are open there is no task
	}
	if s.label {
		data = t.labelled(task, s.width, data)
	}
	if _, err := t.file.Write(data); err != nil && !t.fails {
		t.fails = true
		say("error: output is lost: %v", err)
	}
}

// labelled begins each line with the number of its task.
func (t *target) labelled(task, width int, data []byte) []byte {
	label := fmt.Appendf(nil, "%*d: ", width, task)
	var out []byte
	if !t.whole && t.last != task {
		out = append(out, '\n')
		t.whole = true
	}
	for line := range bytes.Lines(data) {
		if t.whole {
			out = append(out, label...)
		}
		out = append(out, line...)
		t.whole = line[len(line)-1] == '\n'
	}
	t.last = task
	return out
}
