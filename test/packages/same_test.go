package packages

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The same commit gives the same bytes in another folder, with another time zone and mask of modes.
func TestSameBytes(t *testing.T) {
	needsTime(t)
	needsTools(t, "nfpm", "gcc")
	published(t, "berth_*_linux_{arch}.tar.gz")
	out := t.TempDir()
	nfpm := strings.TrimSpace(ok(t, "sh", "-c", "command -v nfpm"))
	if _, err := runIn(t, top, []string{"TZ=Asia/Tokyo", "USER=other", "LC_ALL=C"}, "sh", "-c",
		"umask 077; exec go run ./test/internal/release -nfpm "+nfpm+" -arch "+runtime.GOARCH+" -out "+out); err != nil {
		t.Fatal(err)
	}
	first, err := os.ReadFile(filepath.Join(top, "dist", "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(filepath.Join(out, "SHA256SUMS"))
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for line := range strings.Lines(string(again)) {
		if strings.Contains(line, "sbom") {
			continue // the list names the architectures that were built
		}
		compared++
		if !strings.Contains(string(first), line) {
			t.Errorf("dist has other bytes, or another version, than %s", line)
		}
	}
	if compared != 4 {
		t.Errorf("%d files were compared, want tar.gz, deb, rpm and licences:\n%s", compared, again)
	}
}

// The checksums are those of the files, and the list of parts names the programs and what they are made of.
func TestListOfParts(t *testing.T) {
	t.Parallel()
	path := published(t, "berth_*_sbom.cdx.json")
	if _, err := runIn(t, filepath.Join(top, "dist"), nil, "sha256sum", "--check", "--strict", "SHA256SUMS"); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var b struct {
		Spec       string `json:"specVersion"`
		Components []struct {
			Type, Name, Version, PURL string
			Hashes                    []struct{ Content string }
		}
	}
	if err := json.Unmarshal(text, &b); err != nil {
		t.Fatal(err)
	}
	seen := map[string]string{}
	for _, c := range b.Components {
		seen[c.Name] = c.Version
		if c.Version == "" || c.Type == "application" && len(c.Hashes) != 1 || c.Type == "library" && c.PURL == "" {
			t.Errorf("incomplete is %+v", c)
		}
	}
	for _, name := range []string{"berth", "berthd", "berth-supervisor", "stdlib", "svelte", "github.com/hashicorp/raft", "github.com/spf13/cobra"} {
		if seen[name] == "" {
			t.Errorf("the list has no %s", name)
		}
	}
	if b.Spec != "1.6" || len(seen) < 40 {
		t.Errorf("version %s, %d parts", b.Spec, len(seen))
	}
}
