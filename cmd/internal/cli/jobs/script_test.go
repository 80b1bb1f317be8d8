package jobs

import (
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// What this machine lacks of what a job names is a warning: its nodes may have it.
func TestPlacesThatThisMachineLacks(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for _, v := range []struct {
		job  wire.Submit
		says string
	}{
		{wire.Submit{Script: "#!/bin/sh -e\ntrue\n", WorkDir: folder}, ""},
		{wire.Submit{Script: "#! /no/such/python3 -u\n"}, "run by /no/such/python3, which does not exist on this machine"},
		{wire.Submit{Script: "echo\n", WorkDir: folder + "/typo"}, "no such folder in " + folder},
		{wire.Submit{WorkDir: "/no/such/place"}, ""},
	} {
		var out strings.Builder
		warnOfPlaces(&out, &v.job)
		if !strings.Contains(out.String(), v.says) || v.says == "" && out.Len() > 0 {
			t.Errorf("%+v: %q", v.job, out.String())
		}
	}
}
