package demo

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"time"
)

// mark is one line that a job's process has written.
type mark struct {
	run  run
	pid  int
	what string
	at   time.Time
	gpus []string // UUIDs in the environment of the process
}

// run identifies one process of a job, which must have started at most once.
type run struct {
	job     string
	attempt int64
	rank    int64
}

// span is the life of a process by its own marks.
type span struct {
	starts int
	begin  time.Time
	end    time.Time // zero: it was killed before it could mark its end
	gpus   []string  // UUIDs in the environment of the process
}

// readMarks reads what the jobs have written.
func readMarks(path string) (map[run]*span, error) {
	f, err := os.Open(path) //nolint:gosec // the demo's own file
	if err != nil {
		return nil, fmt.Errorf("the jobs have left no marks: %w", err)
	}
	defer func() { _ = f.Close() }()
	spans := map[run]*span{}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		m, err := parseMark(lines.Text())
		if err != nil {
			return nil, err
		}
		s := spans[m.run]
		if s == nil {
			s = &span{}
			spans[m.run] = s
		}
		if m.what == "start" {
			s.starts++
			s.begin, s.gpus = m.at, m.gpus
		} else {
			s.end = m.at
		}
	}
	return spans, lines.Err()
}

// marked reports whether a process has marked its start.
func marked(path string, r run) bool {
	spans, err := readMarks(path)
	return err == nil && spans[r] != nil && spans[r].starts > 0
}

func parseMark(line string) (m mark, err error) {
	var ns int64
	var gpus string
	if _, err = fmt.Sscan(line, &m.run.job, &m.run.attempt, &m.run.rank, &m.pid, &m.what, &ns, &gpus); err != nil {
		return m, fmt.Errorf("a mark cannot be read: %q: %w", line, err)
	}
	m.at, m.gpus = time.Unix(0, ns), strings.Split(gpus, ",")
	return m, nil
}
