package main

import (
	"fmt"
	"strings"

	"github.com/berth-gpu/berth/cmd/internal/table"
)

// sheet collects lines of a name and a value.
type sheet struct{ strings.Builder }

func (s *sheet) line(name, format string, args ...any) {
	if value := table.Clean(fmt.Sprintf(format, args...)); value != "" {
		fmt.Fprintf(s, "%-12s %s\n", name, value)
	}
}

func (s *sheet) head(title string) { fmt.Fprintf(s, "\n%s\n", title) }

// list prints points under a title; nothing if there are none.
func (s *sheet) list(title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	s.head(title)
	for _, l := range lines {
		fmt.Fprintf(s, "  - %s\n", table.Clean(l))
	}
}
