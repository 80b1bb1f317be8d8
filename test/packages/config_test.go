package packages

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// scripts returns the scripts of deploy/, which have no suffix.
func scripts() []string {
	return []string{
		"deploy/packages/units", "deploy/packages/postinst", "deploy/packages/prerm", "deploy/packages/postrm",
		"deploy/packages/rpm-post", "deploy/packages/rpm-preun", "deploy/packages/rpm-postun",
		"deploy/container/build", "deploy/container/berth-member", "deploy/helm/berth/files/invite",
	}
}

// Scripts of packages and images have no finding of shellcheck.
func TestScripts(t *testing.T) {
	t.Parallel()
	for _, script := range scripts() {
		ok(t, "sh", "-n", script)
	}
	needsTools(t, "shellcheck")
	ok(t, append([]string{"shellcheck", "-s", "sh"}, scripts()...)...)
}

// Each file that the packages are made of is there, and units, account and example are among them.
func TestFilesOfPackages(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(top, "deploy/packages/nfpm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`(?:src: "?|(?:postinstall|preremove|postremove): )(\S+?)[",}\n]`).FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(m[1], "${WORK") {
			continue // made by make release
		}
		if found, err := filepath.Glob(filepath.Join(top, m[1])); err != nil || len(found) == 0 {
			t.Errorf("nfpm.yaml names %s, which is not there: %v", m[1], err)
		}
	}
	units, err := filepath.Glob(filepath.Join(top, "deploy/*.service"))
	if err != nil || len(units) != 3 {
		t.Fatalf("units: %v, %v", units, err)
	}
	for _, unit := range units {
		has(t, string(text), "/usr/lib/systemd/system/"+filepath.Base(unit))
	}
}
