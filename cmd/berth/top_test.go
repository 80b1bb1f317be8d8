package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// What is shown again and again is, for programs, one document a round, without what is
// meant for a screen.
func TestRoundsForPrograms(t *testing.T) {
	for form, want := range map[string]string{"json": "{\"a\":1}\n", "yaml": "---\na: 1\n", "": clearScreen + "table\n"} {
		c := &connection{output: form}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		cmd := &cobra.Command{}
		var out strings.Builder
		cmd.SetContext(ctx)
		cmd.SetOut(&out)
		err := c.again(cmd, nil, time.Second, func(*cobra.Command, []string) error {
			if form == "" {
				_, err := out.WriteString("table\n")
				return err
			}
			return c.print(&out, map[string]int{"a": 1}, nil)
		})
		if err != nil || out.String() != want {
			t.Errorf("%s: %q, %v", form, out.String(), err)
		}
	}
}
