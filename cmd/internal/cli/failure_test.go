package cli

import (
	"errors"
	"testing"
)

func TestOneLine(t *testing.T) {
	for text, want := range map[string]string{
		"one":                    "one",
		"one\n  two\n\nthree":    "one; two; three",
		"all of these:\n one,\n": "all of these: one,",
		"It ended.\nOnce.":       "It ended. Once.",
	} {
		if got := OneLine(errors.New(text)); got != want {
			t.Errorf("%q is %q, not %q", text, got, want)
		}
	}
}
