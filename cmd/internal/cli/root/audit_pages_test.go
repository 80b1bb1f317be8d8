package root

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// All pages are asked for, of one peer: another's would not go on with it.
func TestRefusalsArePaged(t *testing.T) {
	asked, other := []string{}, false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Encode())
		w.Header().Set("Content-Type", "application/json")
		switch before := r.URL.Query().Get("before"); {
		case before == "":
			fmt.Fprint(w, `{"peer":"p1","refusals":[{"code":"denied","path":"/a"}],"next":4294967301}`)
		case other:
			fmt.Fprint(w, `{"peer":"p2","refusals":[{"code":"denied","path":"/c"}]}`)
		default:
			fmt.Fprint(w, `{"peer":"p1","refusals":[{"code":"denied","path":"/b"}]}`)
		}
	}))
	defer server.Close()
	args := []string{"audit", "--refusals", "--limit", "0", "--result", "denied", "--address", strings.TrimPrefix(server.URL, "http://")}
	code, out, errs := called(args...)
	if want := []string{"code=denied&limit=1000", "before=4294967301&code=denied&limit=1000"}; code != 0 || !slices.Equal(asked, want) {
		t.Errorf("exit code %d, asked for %q: %s", code, asked, errs)
	}
	if !strings.Contains(out, "/a") || !strings.Contains(out, "/b") || strings.Contains(out, "older records") {
		t.Errorf("it shows %s", out)
	}
	other = true
	if code, out, errs = called(args...); code != cmdline.ExitFailure || !strings.Contains(errs, "peer p1 does not answer any more") {
		t.Errorf("exit code %d, %s%s", code, out, errs)
	}
}
