package cli

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// Pages are asked for until there are as many as are wanted, or no more.
func TestPages(t *testing.T) {
	for limit, want := range map[int]string{0: "[1000 1000 1000]", 1500: "[1000 500]", 3: "[3]", 9000: "[1000 1000 1000]"} {
		var asked []int
		have := 0
		err := (&Report{limit: limit}).Pages(func(most int) (int, bool, error) {
			asked = append(asked, most)
			have += min(most, 2200-have)
			return have, have < 2200, nil
		})
		if err != nil || fmt.Sprint(asked) != want {
			t.Errorf("for %d it asks for %v, %v; want %s", limit, asked, err, want)
		}
	}
	if err := (&Report{}).Pages(func(int) (int, bool, error) { return 0, true, io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("a page that fails: %v", err)
	}
}

// What an archive lacks is said.
func TestShowArchive(t *testing.T) {
	for want, standing := range map[string]*wire.ArchiveStanding{
		"not yet got":       {},
		"cannot be written": {CompleteTo: 1, Failing: true},
	} {
		var out strings.Builder
		if err := ShowArchive(&out, standing); err != nil || !strings.Contains(out.String(), want) {
			t.Errorf("%v: %q", err, out.String())
		}
	}
}
