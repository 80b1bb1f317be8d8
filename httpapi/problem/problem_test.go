package problem

import (
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/berth-gpu/berth/httpapi/wire"
)

// TestAnAnswerHoldsTheProblemOnly: the body is the problem as the API describes it, and how long to wait stands in the
// header only.
func TestAnAnswerHoldsTheProblemOnly(t *testing.T) {
	t.Parallel()
	f := Refuse(wire.CodeOverloaded, "busy")
	f.RetryIn(1500 * time.Millisecond)
	body, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	var members map[string]any
	if err := json.Unmarshal(body, &members); err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(members)), []string{"code", "detail", "status", "title"}; !slices.Equal(got, want) {
		t.Errorf("the body has %v, want %v", got, want)
	}
	if got := f.GetHeaders(); f.Status != http.StatusTooManyRequests || got.Get("Retry-After") != "2" {
		t.Errorf("status %d with %v, want 429 with Retry-After 2", f.Status, got)
	}
}
