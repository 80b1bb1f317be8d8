package cli

import (
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// Sheet collects lines of a name and a value.
type Sheet struct{ strings.Builder }

// Line adds a name and its value; nothing for an empty value.
func (s *Sheet) Line(name, format string, args ...any) {
	if value := table.Clean(fmt.Sprintf(format, args...)); value != "" {
		fmt.Fprintf(s, "%-12s %s\n", name, value)
	}
}

// Head adds a title after an empty line.
func (s *Sheet) Head(title string) { fmt.Fprintf(s, "\n%s\n", title) }

// List adds points under a title; nothing if there are none.
func (s *Sheet) List(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	s.Head(title)
	for _, l := range lines {
		fmt.Fprintf(s, "  - %s\n", table.Clean(l))
	}
}
