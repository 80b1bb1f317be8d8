package auth

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

var update = flag.Bool("update", false, "write the table of roles into docs/security.md")

const (
	docs       = "../../docs/security.md"
	tableBegin = "<!-- roles: written by go test ./httpapi/auth -update -->\n"
	tableEnd   = "<!-- end of roles -->\n"
)

// table is the rules as the documentation tells them.
func table() string {
	out := "| least role | requests |\n|---|---|\n"
	for _, least := range append([]model.Role{model.RoleNone}, model.Roles()...) {
		var calls []string
		for _, r := range Rules() {
			if r.Least != least {
				continue
			}
			call := "`" + r.Method + " " + r.Path + "`"
			switch {
			case r.Sole:
				call += " (own jobs, whatever the role)"
			case r.Own:
				call += " (own jobs)"
			case r.First && r.Agents:
				call += " (and agents, and the first token)"
			case r.First:
				call += " (and the first token)"
			case r.Agents:
				call += " (and agents)"
			}
			calls = append(calls, call)
		}
		name := least.String()
		if least == model.RoleNone {
			name = "open to all"
		}
		out += fmt.Sprintf("| %s | %s |\n", name, strings.Join(calls, ", "))
	}
	return out
}

// The table in the documentation is that of the code.
func TestTheDocumentedRoles(t *testing.T) {
	text, err := os.ReadFile(docs)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, found := strings.Cut(string(text), tableBegin)
	told, after, closed := strings.Cut(rest, tableEnd)
	if !found || !closed {
		t.Fatal("docs/security.md has no table of roles")
	}
	if *update {
		if err := os.WriteFile(docs, []byte(before+tableBegin+table()+tableEnd+after), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	if told != table() {
		t.Error("the table in docs/security.md is another than the code's: run go test ./httpapi/auth -update")
	}
}

func TestTokensAreDrawn(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || !strings.HasPrefix(a, Prefix) || len(a) != len(Prefix)+43 {
		t.Errorf("drew %q and %q", a, b)
	}
}

func TestPresented(t *testing.T) {
	for _, v := range []struct{ name, value, named, want string }{
		{"X-Auth-Token", "a", "", "a"},
		{"X-Api-Key", " a ", "", "a"},
		{"X-Mine", "a", "X-Mine", "a"},
		{"X-Mine", "a", "", ""},
		{"Authorization", "Bearer a", "", "a"},
		{"Authorization", "bEARER a", "", "a"},
		{"Authorization", "Bearer", "", ""},
		{"Authorization", "Token a", "", ""},
	} {
		h := http.Header{}
		h.Set(v.name, v.value)
		if got, err := Presented(h, v.named); got != v.want || err != nil {
			t.Errorf("%s: %s shows %q, %v, want %q", v.name, v.value, got, err, v.want)
		}
	}
}

// A proxy in front of the API may have checked one credential of a request, and let another
// pass.
func TestTwoCredentials(t *testing.T) {
	for _, v := range []struct {
		headers http.Header
		named   string
		want    string // empty: refused
	}{
		{http.Header{"Authorization": {"Bearer a"}, "X-Api-Key": {"b"}}, "", ""},
		{http.Header{"Authorization": {"Bearer a"}, "X-Auth-Token": {"b"}}, "", ""},
		{http.Header{"Authorization": {"Bearer a"}, "X-Mine": {"b"}}, "X-Mine", ""},
		{http.Header{"X-Auth-Token": {"a"}, "X-Api-Key": {"b"}}, "", ""},
		{http.Header{"X-Api-Key": {"a", "b"}}, "", ""},
		{http.Header{"X-Mine": {"a", "b"}}, "X-Mine", ""},
		{http.Header{"Authorization": {"Bearer a", "Bearer b"}}, "", ""},
		{http.Header{"Authorization": {"Basic a", "Bearer b"}}, "", ""},
		{http.Header{"Authorization": {"Bearer a", "Bearer a"}}, "", "a"},
		{http.Header{"Authorization": {"Bearer a"}, "X-Api-Key": {" a "}, "X-Auth-Token": {"a", ""}}, "", "a"},
		{http.Header{"Authorization": {"Basic dTpw"}, "X-Api-Key": {"a"}}, "", "a"}, // the other one is a proxy's
		{http.Header{"Authorization": {"a"}}, "Authorization", "a"},
		{http.Header{"X-Mine": {"b"}, "X-Api-Key": {"a"}}, "", "a"},
	} {
		got, err := Presented(v.headers, v.named)
		if got != v.want || (err == nil) != (v.want != "") {
			t.Errorf("%v shows %q, %v, want %q", v.headers, got, err, v.want)
		}
	}
}

func TestKeys(t *testing.T) {
	var k Keys
	good := Key{Name: "training", Role: model.RoleUser}
	if err := k.Add("your-secret-key-1", good); err != nil {
		t.Fatal(err)
	}
	if got, found := k.Find(HashOf("your-secret-key-1")); !found || got.Name != "training" || k.Len() != 1 {
		t.Errorf("found %+v %t", got, found)
	}
	for secret, key := range map[string]Key{
		"too-short-SECRET":       {Name: "", Role: model.RoleUser},
		"SECRET":                 good,
		"your-secret-key-1":      good,
		"your-SECRET-key-2":      {Name: "x y", Role: model.RoleUser},
		"your-SECRET-key-3":      {Name: "x", Role: model.RoleAgent},
		"your-SECRET-key-4-no":   {Name: "x"},
		strings.Repeat("S", 513): good,
		"your-SECRET-key-5 ":     good,
		"your-SECRET-key\x016":   good,
		"your-SECRET\nkey-7":     good,
	} {
		if err := k.Add(secret, key); err == nil || strings.Contains(err.Error(), "SECRET") {
			t.Errorf("a key of %d bytes for %+v: %v", len(secret), key, err)
		}
	}
}

// Callers beyond the maximum share a bucket, and memory does not grow.
func TestManyCallers(t *testing.T) {
	now := time.Unix(1, 0)
	l := NewLimiter(1, func() time.Time { return now })
	for i := range 3 * maxBuckets {
		l.Take(fmt.Sprint("caller", i), 1)
	}
	if len(l.buckets) > maxBuckets+1 {
		t.Errorf("%d buckets", len(l.buckets))
	}
	if l.Take("another", 1) == 0 {
		t.Error("the shared bucket is not empty")
	}
	now = now.Add(time.Minute)
	if l.Take("another", 1) != 0 || len(l.buckets) > 2 {
		t.Errorf("full buckets are kept: %d", len(l.buckets))
	}
}

// Peers that count by themselves allow together what one would.
func TestPeersShareARate(t *testing.T) {
	t.Parallel()
	now := time.Unix(1, 0)
	taken := 0
	for range 3 {
		l := NewLimiter(9, func() time.Time { return now })
		for l.Take("ann", 3) == 0 {
			taken++
		}
		now = now.Add(time.Second)
		for l.Take("ann", 3) == 0 {
			taken++
		}
	}
	if taken != 18+9 {
		t.Errorf("took %d over three peers at once and in one second", taken)
	}
}

func TestALimiterFills(t *testing.T) {
	now := time.Unix(1, 0)
	l := NewLimiter(10, func() time.Time { return now })
	taken := 0
	for l.Take("ann", 1) == 0 {
		taken++
	}
	if wait := l.Take("ann", 1); taken != 20 || wait != 100*time.Millisecond {
		t.Errorf("took %d at once, then waits %s", taken, wait)
	}
	now = now.Add(100 * time.Millisecond)
	if l.Take("ann", 1) != 0 || l.Take("ann", 1) == 0 {
		t.Error("a tenth of a second is not one request")
	}
	now = now.Add(-time.Hour) // a clock that goes back gives nothing
	if l.Take("ann", 1) == 0 {
		t.Error("a clock that went back filled the bucket")
	}
	l.Allow(0)
	if wait := l.Take("ann", 1); wait != 0 {
		t.Errorf("without a limit it says to wait %s", wait)
	}
	l.Allow(1)
	if first, second, third := l.Take("bea", 1), l.Take("bea", 1), l.Take("bea", 1); first != 0 || second != 0 || third == 0 {
		t.Error("another limit is not held")
	}
	if free := NewLimiter(0, time.Now); free.Take("ann", 1) != 0 || len(free.buckets) != 0 {
		t.Error("no limit limits")
	}
}
