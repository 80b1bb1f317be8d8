package strict

import (
	"encoding/json"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestBlank checks that a text counts as blank if, and only if, it has white space only, however JSON writes it.
func TestBlank(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.StringOf(rapid.SampledFrom([]rune(" \t\n\u00a0\u2003a\"\\é"))).Draw(t, "text")
		raw, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "escaped") {
			raw = []byte(strings.ReplaceAll(string(raw), " ", `\u0020`))
		}
		if got, want := isBlank(raw), strings.TrimSpace(text) == ""; got != want {
			t.Fatalf("%s is blank: %t", raw, got)
		}
	})
	for _, other := range []string{"", "null", "0", `{"a":" "}`, `[" "]`, `"`} {
		if isBlank(json.RawMessage(other)) {
			t.Errorf("%s is blank", other)
		}
	}
}
