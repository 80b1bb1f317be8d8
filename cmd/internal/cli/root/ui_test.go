package root

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// pagePeer is a peer that answers what berth ui asks; codes counts the codes that it has made.
func pagePeer(t *testing.T, authentication bool, public string) (address string, codes *int) {
	t.Helper()
	codes = new(int)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + r.URL.Path {
		case "GET /whoami":
			_, _ = fmt.Fprintf(w, `{"authentication": %t, "kind": "user", "actor": "user:ann", "role": "user"}`, authentication)
		case "GET /cluster/peers":
			_, _ = fmt.Fprintf(w, `{"peers": [{"name": "p2", "address": "10.0.0.2:1", "public_url": "https://p2.example.org"}, {"name": "p1", "address": "10.0.0.1:1", "public_url": %q, "self": true}]}`, public)
		case "POST /session/codes":
			*codes++
			_, _ = fmt.Fprint(w, `{"success": true, "code": "berth_once", "expires_at": "2027-01-15T08:01:00Z"}`)
		default:
			t.Errorf("asked for %s %s", r.Method, r.URL.Path)
		}
	}))
	t.Cleanup(server.Close)
	return strings.TrimPrefix(server.URL, "http://"), codes
}

// The address of the page is printed, with a code only where a sign-in is needed.
func TestThePagesAddress(t *testing.T) {
	t.Setenv("DISPLAY", "")
	t.Setenv("WAYLAND_DISPLAY", "")
	for _, one := range []struct {
		authentication bool
		public, want   string
		codes          int
	}{
		{false, "", "http://ADDRESS/ui/\n", 0},
		{true, "", "http://ADDRESS/ui/login#code=berth_once\n", 1},
		{true, "https://gpu.example.org/", "https://gpu.example.org/ui/login#code=berth_once\n", 1},
	} {
		address, codes := pagePeer(t, one.authentication, one.public)
		code, out, errs := called("ui", "--address", address)
		if want := strings.Replace(one.want, "ADDRESS", address, 1); code != 0 || out != want || *codes != one.codes || strings.Contains(errs, "berth_once") || one.codes > 0 != strings.Contains(errs, "within a minute") {
			t.Errorf("%d %q, want %q; %s; %d codes", code, out, want, errs, *codes)
		}
	}
}

// A browser is opened where there is a screen, unless only the address is asked for.
func TestThePageIsOpened(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >>"+opened+".part; mv "+opened+".part "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":7")
	first, _ := pagePeer(t, false, "")
	second, _ := pagePeer(t, true, "")
	for _, args := range [][]string{{"ui", "--no-open", "--address", first}, {"ui", "--address", second}} {
		if code, _, errs := called(args...); code != 0 {
			t.Fatalf("%v: %d %s", args, code, errs)
		}
	}
	for {
		data, err := os.ReadFile(opened)
		if err == nil {
			if want := "http://" + second + "/ui/login#code=berth_once\n"; string(data) != want {
				t.Errorf("opened is %q, want %q", data, want)
			}
			return
		}
		select {
		case <-t.Context().Done():
			t.Fatal("nothing was opened")
		case <-time.After(time.Millisecond):
		}
	}
}
