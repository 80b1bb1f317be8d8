package cli

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// What is shown again and again is, for programs, one document a round, without what is
// meant for a screen.
func TestRoundsForPrograms(t *testing.T) {
	for form, want := range map[string]string{"json": "{\"a\":1}\n", "yaml": "---\na: 1\n", "": "table\n"} {
		c := &Connection{Output: form}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cmd := &cobra.Command{}
		var out strings.Builder
		cmd.SetContext(ctx)
		cmd.SetOut(&out)
		err := c.Again(cmd, nil, time.Second, func(*cobra.Command, []string) error {
			if form == "" {
				_, err := io.WriteString(cmd.OutOrStdout(), "table\n")
				return err
			}
			return c.Print(cmd.OutOrStdout(), map[string]int{"a": 1}, nil)
		})
		if !errors.Is(err, context.Canceled) || out.String() != want {
			t.Errorf("%s: %q, %v", form, out.String(), err)
		}
	}
}

// A screen is as large as the terminal, however much there is to show, and is drawn over the one
// before.
func TestScreensFitTheTerminal(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		columns, lines int
		text, want     string
	}{
		{0, 0, "a long line\nb\n", "a long line\nb\n"},
		{80, 24, "a\nb\n", "\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"},
		{6, 24, "a long line\n", "\x1b[Ha lon…\x1b[K\x1b[J"},
		{6, 24, "訓練模型\n", "\x1b[H訓練…\x1b[K\x1b[J"},
		{80, 2, "a\nb\nc\n", "\x1b[Ha\x1b[K\r\n… and 2 more lines than the terminal has\x1b[K\x1b[J"},
		{80, 24, "evil\x1b[2J\n", "\x1b[Hevil\x1b[K\x1b[J"},
	} {
		s := &screen{columns: v.columns, lines: v.lines, first: true}
		s.WriteString(v.text)
		if got := s.text(""); got != v.want {
			t.Errorf("%q on %d columns and %d lines: %q, want %q", v.text, v.columns, v.lines, got, v.want)
		}
	}
}
