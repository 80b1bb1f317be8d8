package nodeapi

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// gauge records its arguments.
type gauge struct{}

func (gauge) Past(back time.Duration, steps int) *wire.NodeHistory {
	return &wire.NodeHistory{StepSeconds: back.Seconds() / float64(steps), Steps: int64(steps)}
}

// A history is served in the number of steps that was asked for, and that number is bounded.
func TestServeHistory(t *testing.T) {
	_, url := serve(t)
	if code, body := get(t, url+PathHistory+"?minutes=15&steps=90"); code != http.StatusOK || !strings.Contains(body, `"step_seconds":10,"steps":90`) {
		t.Errorf("%d %s", code, body)
	}
	for _, query := range []string{
		"", "minutes=15", "steps=60", "minutes=0&steps=60", "minutes=16&steps=60", "minutes=15&steps=181", "minutes=15&steps=0",
		"minutes=15&steps=-1", "minutes=1e1&steps=60", "minutes=15&minutes=14&steps=60", "minutes=15&steps=60&gpu=../x",
	} {
		if code, body := get(t, url+PathHistory+"?"+query); code != http.StatusUnprocessableEntity || !strings.Contains(body, `"code"`) {
			t.Errorf("%q: %d %s", query, code, body)
		}
	}
}
