package cli

import (
	"os"
	"path/filepath"
	"testing"
)

// A token is read from the environment, and from files that hold nothing else.
func TestTokensOfTheEnvironmentAndOfFiles(t *testing.T) {
	t.Setenv("BERTH_TOKEN", "")
	t.Setenv("RESEARCH_AGENT_USER_AUTH_TOKEN", "berth_b")
	if got := TokenOfEnvironment(); got != "berth_b" {
		t.Errorf("got %q", got)
	}
	t.Setenv("BERTH_TOKEN", " berth_a\n")
	if got := TokenOfEnvironment(); got != "berth_a" {
		t.Errorf("got %q", got)
	}
	written := func(text string) string {
		path := filepath.Join(t.TempDir(), "token")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if got, err := ReadTokenFile(written("berth_c\n")); got != "berth_c" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	for _, text := range []string{"", "\n", "a b", "a\nb"} {
		if _, err := ReadTokenFile(written(text)); err == nil {
			t.Errorf("%q is a token", text)
		}
	}
}
