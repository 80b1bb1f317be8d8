package root

import (
	"bytes"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// What makes no sense is refused before any peer is asked.
func TestRefusedCommandLines(t *testing.T) {
	for line, says := range map[string]string{
		"submit --array= -- x":                      "--array is empty",
		"submit --after= -- x":                      "--after is empty",
		"submit --begin= -- x":                      "--begin is empty",
		"submit --begin +400d -- x":                 "at most 366 days ahead",
		"submit --dry-run --parsable -- x":          "--parsable",
		"submit -g :2 -- x":                         "--gpus \":2\" has no model before the colon: write 2 for any model, or a model such as H100:2",
		"policy --set depth=5 --set depth=6":        "given twice",
		"quota pool hybrid --ratio x":               "must be a number",
		"reserve -g abc --start now --duration 1h":  "must be a number",
		"reserve --nodes n[1 --duration 1h":         "--nodes",
		"quota set user ann --max-run-time -5m":     "not be negative",
		"reserve limits --percent 10x --longest 1d": "must be a number",
	} {
		var out, wrong bytes.Buffer
		args := append(strings.Fields(line), "--address", "127.0.0.1:1")
		if before, after, dashed := strings.Cut(line, " -- "); dashed {
			args = append(append(strings.Fields(before), "--address", "127.0.0.1:1", "--"), after)
		}
		if code := Run(args, &out, &wrong); code != cmdline.ExitUsage || !strings.Contains(wrong.String(), says) ||
			strings.Contains(wrong.String(), "strconv") {
			t.Errorf("%s: %d, %s", line, code, wrong.String())
		}
	}
}
