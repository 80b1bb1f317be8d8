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
		if want := strings.Replace(one.want, "ADDRESS", address, 1); code != 0 || out != want || *codes != one.codes || strings.Contains(errs, "berth_once") ||
			one.codes > 0 != strings.Contains(errs, "within a minute") {
			t.Errorf("%d %q, want %q; %s; %d codes", code, out, want, errs, *codes)
		}
	}
}

// A browser is opened where there is a screen, unless only the address is asked for. The code is not among the browser's arguments, which
// every user of the machine may read, but in a file of the caller's.
func TestThePageIsOpened(t *testing.T) {
	dir := t.TempDir()
	opened := filepath.Join(dir, "opened")
	if err := os.WriteFile(filepath.Join(dir, "xdg-open"), []byte("#!/bin/sh\necho \"$1\" >>"+opened+".part; mv "+opened+".part "+opened+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":7")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "cache"))
	first, _ := pagePeer(t, false, "")
	second, _ := pagePeer(t, true, "")
	third, _ := pagePeer(t, false, "")
	if code, _, errs := called("ui", "--no-open", "--address", first); code != 0 {
		t.Fatalf("%d %s", code, errs)
	}
	for _, address := range []string{second, third, second} {
		if code, _, errs := called("ui", "--address", address); code != 0 {
			t.Fatalf("%d %s", code, errs)
		}
		got := appears(t, opened)
		if address == third {
			if want := "http://" + third + "/ui/"; got != want {
				t.Errorf("opened is %q, want %q", got, want)
			}
			continue
		}
		info, err := os.Stat(got)
		if err != nil || info.Mode().Perm() != 0o600 || strings.Contains(got, "berth_once") {
			t.Fatalf("opened is %q: %v, %v", got, info, err)
		}
		page, err := os.ReadFile(got)
		if want := `content="0; url=http://` + second + `/ui/login#code=berth_once"`; err != nil || !strings.Contains(string(page), want) {
			t.Errorf("the file is %s, %v", page, err)
		}
	}
}

// Where the file cannot be written no browser is opened; the address is printed all the same.
func TestThePageIsNotOpened(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"xdg-open": "#!/bin/sh\n", "file": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	t.Setenv("DISPLAY", ":7")
	t.Setenv("XDG_CACHE_HOME", filepath.Join(dir, "file"))
	address, _ := pagePeer(t, true, "")
	if code, out, errs := called("ui", "--address", address); code != 0 || !strings.Contains(out, "#code=berth_once") || !strings.Contains(errs, "no browser was opened") || strings.Contains(errs, "berth_once") {
		t.Errorf("%d %s %s", code, out, errs)
	}
}

// appears waits for a file, removes it and returns its line.
func appears(t *testing.T, path string) string {
	t.Helper()
	for {
		data, err := os.ReadFile(path)
		if err == nil {
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
			return strings.TrimSuffix(string(data), "\n")
		}
		select {
		case <-t.Context().Done():
			t.Fatal("nothing was opened")
		case <-time.After(time.Millisecond):
		}
	}
}
