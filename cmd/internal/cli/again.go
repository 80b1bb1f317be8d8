package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/cmd/internal/terminal"
)

// Again repeats a command until an interrupt: on a terminal's screen, which is redrawn when its
// size changes, or for programs as one document after the other.
func (c *Connection) Again(cmd *cobra.Command, args []string, every time.Duration, look func(*cobra.Command, []string) error) error {
	c.repeated = true
	out := cmd.OutOrStdout()
	defer cmd.SetOut(out)
	resized, stop := terminal.Resized()
	defer stop()
	next := time.NewTicker(every)
	defer next.Stop()
	for first := true; ; first = false {
		round := &screen{first: first}
		round.columns, round.lines = terminal.Size(out)
		cmd.SetOut(round)
		if err := look(cmd, args); err != nil {
			return err
		}
		if _, err := io.WriteString(terminal.Raw(out), round.text(c.Output)); err != nil {
			return err
		}
		select {
		case <-next.C:
		case <-resized:
		case <-cmd.Context().Done():
			return cmd.Context().Err()
		}
	}
}

// screen is the output of one round: on a terminal its whole screen.
type screen struct {
	bytes.Buffer

	columns, lines int  // 0: not a terminal
	first          bool // no round was shown before
}

// Size returns the size of the terminal.
func (s *screen) Size() (columns, lines int) { return s.columns, s.lines }

// The control sequences that draw a screen over the previous one.
const (
	cursorHome = "\x1b[H"
	clearLine  = "\x1b[K" // from the cursor on
	clearBelow = "\x1b[J"
)

// text returns the text of the round.
func (s *screen) text(form string) string {
	switch {
	case form == "json":
		return s.String()
	case form == "yaml":
		return "---\n" + s.String()
	case s.columns == 0 || s.lines == 0:
		if s.first {
			return s.String()
		}
		return "\n" + s.String()
	}
	lines := strings.Split(strings.TrimRight(terminal.Text(s.String()), "\n"), "\n")
	if more := len(lines) - s.lines; more > 0 {
		lines = append(lines[:s.lines-1], fmt.Sprintf("… and %d more lines than the terminal has", more+1))
	}
	for i, line := range lines {
		lines[i] = table.Cut(line, s.columns) + clearLine
	}
	return cursorHome + strings.Join(lines, "\r\n") + clearBelow
}
