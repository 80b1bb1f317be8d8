package model_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/model"
)

// Standard input is kept as base64, up to a bound, and nothing else is.
func TestStdin(t *testing.T) {
	t.Parallel()
	most := base64.StdEncoding.EncodeToString(make([]byte, model.MaxStdin))
	if len(most) > model.MaxScript {
		t.Errorf("the longest input takes %d bytes, and a text of an import may have %d", len(most), model.MaxScript)
	}
	for text, good := range map[string]bool{"": true, "aGVsbG8=": true, "/4AA": true, most: true, most + "AAAA": false, "aGVsbG8": false, "a\nb": false, "aGV\nsbG8=": false} {
		if _, err := model.Stdin(text); (err == nil) != good {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// What cannot be run as a script is refused with its place, and all other text is a script.
func TestProgramFault(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"#!/bin/sh\necho 訓練\n":           "",
		"":                               "",
		"printf 'a\\r\\n'\n":             "",
		"echo a\rb\n":                    "",
		"#!/bin/bash\r\necho hi\r\n":     "DOS line ends, the first in line 1",
		"#!/bin/bash\necho hi\r\n":       "DOS line ends, the first in line 2",
		"#!/bin/sh\nls caf\xe9\n":        "byte 7 of line 2 is 0xe9",
		"\xff\xfee\x00":                  "NUL byte in line 1",
		"echo \xed\xa0\x80\n":            "byte 6 of line 1 is 0xed",
		"a\nb\nc\x00":                    "NUL byte in line 3",
		"\x7fELF\x02\x01\x01\x00\xff":    "compiled program",
		"#!/bin/sh\necho \uFFFD is text": "",
	} {
		if got := model.ProgramFault(text); (got == "") != (says == "") || !strings.Contains(got, says) {
			t.Errorf("%q: %q, want %q", text, got, says)
		}
	}
}
