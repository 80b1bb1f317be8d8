package auth

import (
	"net/http"
	"testing"
)

// The client of a request is the one of trusted proxies, and not one that a client claims.
func TestTheClientBehindProxies(t *testing.T) {
	t.Parallel()
	proxies, wrong := ParseProxies([]string{"10.0.0.0/8", "192.0.2.1", "2001:db8::/32"})
	if wrong != "" {
		t.Fatal(wrong)
	}
	for name, c := range map[string]struct {
		from            string
		plain, standard []string
		want            string
	}{
		"no proxy":                  {"203.0.113.7:999", []string{"198.51.100.1"}, []string{"for=198.51.100.1"}, "203.0.113.7"},
		"a proxy that says nothing": {"10.0.0.1:999", nil, nil, "10.0.0.1"},
		"a proxy":                   {"10.0.0.1:999", []string{"203.0.113.7"}, nil, "203.0.113.7"},
		"what the client says":      {"10.0.0.1:999", []string{"198.51.100.1, 203.0.113.7"}, nil, "203.0.113.7"},
		"on a line of its own":      {"10.0.0.1:999", []string{"198.51.100.1", "203.0.113.7"}, nil, "203.0.113.7"},
		"two proxies":               {"10.0.0.1:999", []string{"1.1.1.1, 203.0.113.7, 192.0.2.1"}, nil, "203.0.113.7"},
		"all of them trusted":       {"10.0.0.1:999", []string{"10.0.0.3,10.0.0.2"}, nil, "10.0.0.3"},
		"with ports":                {"[2001:db8::1]:9", []string{"203.0.113.7:4711"}, nil, "203.0.113.7"},
		"no address":                {"10.0.0.1:999", []string{"1.1.1.1, unknown"}, nil, "10.0.0.1"},
		"an empty hop":              {"10.0.0.1:999", []string{"1.1.1.1,"}, nil, "10.0.0.1"},
		"mapped":                    {"[::ffff:10.0.0.1]:9", []string{"::ffff:203.0.113.7"}, nil, "203.0.113.7"},
		"the standard":              {"10.0.0.1:999", nil, []string{`for=1.1.1.1, For="[2001:DB9::7]:80";proto=https;by=10.0.0.1`}, "2001:db9::7"},
		"the standard, hidden":      {"10.0.0.1:999", nil, []string{`for=1.1.1.1, for=_secret`}, "10.0.0.1"},
		"the standard, other pairs": {"10.0.0.1:999", nil, []string{`proto=https`}, "10.0.0.1"},
		"both, the same":            {"10.0.0.1:999", []string{"203.0.113.7"}, []string{"for=203.0.113.7"}, "203.0.113.7"},
		"both, and one is forged":   {"10.0.0.1:999", []string{"203.0.113.7"}, []string{"for=1.1.1.1"}, "10.0.0.1"},
		"no address of its own":     {"@", []string{"203.0.113.7"}, nil, "@"},
	} {
		r := &http.Request{RemoteAddr: c.from, Header: http.Header{"X-Forwarded-For": c.plain, "Forwarded": c.standard}}
		if got := proxies.Client(r); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	for _, text := range []string{"10.0.0.0/33", "proxy.example", "10.0.0.1:80", ""} {
		if _, wrong := ParseProxies([]string{"10.0.0.1", text}); wrong != text {
			t.Errorf("%q is taken for a network", text)
		}
	}
	for address, want := range map[string]string{"10.0.0.1": "10.0.0.1", "2001:db8:1:2:3::4": "2001:db8:1:2::/64", "@": "@"} {
		if got := Network(address); got != want {
			t.Errorf("%s counts as %s", address, got)
		}
	}
}
