package cli

import (
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

func TestRefs(t *testing.T) {
	for text, want := range map[string]struct {
		Ref
		said string
	}{
		"17":            {Ref{"17", ""}, "17"},
		"17.3":          {Ref{"17", "3"}, "17.3"},
		"17_3":          {Ref{"17", "3"}, "17.3"},
		"17.[3-9]":      {Ref{"17", "3-9"}, "17.[3-9]"},
		"17_[12,9-11]":  {Ref{"17", "9-12"}, "17.[9-12]"},
		"@":             {Ref{"@", ""}, "@"},
		"@.0":           {Ref{"@", "0"}, "@.0"},
		"what":          {Ref{"what", ""}, "what"},
		"17.[0-9:3,40]": {Ref{"17", "0-9:3,40"}, "17.[0-9:3,40]"},
	} {
		if got, err := parseRef(text); err != nil || got != want.Ref || got.String() != want.said {
			t.Errorf("%s is %+v, said as %s (%v)", text, got, got, err)
		}
	}
	for _, text := range []string{"17.", "17.x", "17.[3", "17.[]", "17.[a-b]", "17.3-9", "17.-1", "17.1.2", "17.[9-3]", "17.9999999", "", " ", ".3", "_3"} {
		if got, err := parseRef(text); cmdline.ExitCode(err) != cmdline.ExitUsage {
			t.Errorf("%s was read as %+v (%v)", text, got, err)
		}
	}
}
