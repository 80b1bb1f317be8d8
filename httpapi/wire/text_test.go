package wire_test

import (
	"encoding/json"
	"testing"

	"github.com/berth-gpu/berth/httpapi/wire"
)

func TestHalfCharacter(t *testing.T) {
	t.Parallel()
	for text, at := range map[string]int{
		`"a"`:              -1,
		`"\ud83d\ude00"`:   -1,
		`"\\ud800"`:        -1,
		`"\u00e9\n\"\\"`:   -1,
		`"\uFFFD"`:         -1,
		`"\ud800"`:         1,
		`"\uDC00"`:         1,
		`"ab\ud83d\ud83d"`: 3,
		`"\ud83dx\ude00"`:  1,
		`"\\\ud800x"`:      3,
		`{"a":"\uD83D"}`:   6,
	} {
		if got := wire.HalfCharacter([]byte(text)); got != at {
			t.Errorf("%s: %d, want %d", text, got, at)
		}
	}
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{"café": false, "\uFFFD": false, `\ufffd`: false, "caf\xe9": true, "\xed\xa0\x80": true, "<\x00\\": false} {
		data, err := json.Marshal(map[string]string{"a": text})
		if err != nil {
			t.Fatal(err)
		}
		if got := wire.Replaced(data); got != want {
			t.Errorf("%q as %s: %t, want %t", text, data, got, want)
		}
	}
}
