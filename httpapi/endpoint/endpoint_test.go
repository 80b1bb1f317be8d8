package endpoint

import "testing"

// What another machine reports as its address is a host and a port, or no request is made.
func TestURL(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ address, target, want string }{
		{"127.0.0.1:10000", "/node/logs?job=1&tail=2", "http://127.0.0.1:10000/node/logs?job=1&tail=2"},
		{"[fd00::7]:7070", "/x", "http://[fd00::7]:7070/x"},
		{"p1.example.org:10000", "/runs/a%2Fb", "http://p1.example.org:10000/runs/a%2Fb"},
		{"p_1:10000", "//evil.example/x", "http://p_1:10000//evil.example/x"},
		{"127.0.0.1:15555/latest/meta-data/iam?x=", "/node/logs", ""},
		{"127.0.0.1:15555?x=", "/node/logs", ""},
		{"127.0.0.1:15555#", "/node/logs", ""},
		{"user@127.0.0.1:80", "/x", ""},
		{"user:secret@127.0.0.1:80", "/x", ""},
		{"127.0.0.1", "/x", ""},
		{"127.0.0.1:", "/x", ""},
		{"127.0.0.1:0", "/x", ""},
		{"127.0.0.1:65536", "/x", ""},
		{"127.0.0.1:+80", "/x", ""},
		{"127.0.0.1:080", "/x", ""},
		{":80", "/x", ""},
		{"a b:80", "/x", ""},
		{"a\r\nHost: b:80", "/x", ""},
		{"[fe80::1%25eth0]:80", "/x", ""},
		{"[127.0.0.1]:80", "/x", ""},
		{"[::1:80", "/x", ""},
		{"::1:80", "/x", ""},
		{"", "/x", ""},
		{"127.0.0.1:80", "x", ""},
		{"127.0.0.1:80", "http://evil.example/x", ""},
		{"127.0.0.1:80", "", ""},
	} {
		got, err := URL(v.address, v.target)
		switch {
		case v.want == "" && err == nil:
			t.Errorf("%q with %q is %s", v.address, v.target, got)
		case v.want != "" && (err != nil || got.String() != v.want):
			t.Errorf("%q with %q is %v, %v, want %s", v.address, v.target, got, err, v.want)
		}
	}
}

func TestHosts(t *testing.T) {
	t.Parallel()
	h := NewHosts("Berth.Example.org.", "10.0.0.7:10000", "[FD00::7]:10000", "")
	for _, v := range []struct {
		header      string
		has, withIP bool
	}{
		{"", true, true},
		{"localhost", true, true},
		{"LOCALHOST.:10000", true, true},
		{"127.0.0.1:10000", true, true},
		{"127.9.9.9", true, true},
		{"[::1]:10000", true, true},
		{"::1", true, true},
		{"[::ffff:127.0.0.1]:1", true, true},
		{"berth.example.org:443", true, true},
		{"BERTH.example.org.", true, true},
		{"10.0.0.7", true, true},
		{"[fd00:0::7]:1", true, true},
		{"10.0.0.8:10000", false, true},
		{"[fd00::8]", false, true},
		{"evil.example:10000", false, false},
		{"127.0.0.1.evil.example", false, false},
		{"localhost.evil.example", false, false},
		{"evil.localhost", false, false},
		{"127.1", false, false},
		{"2130706433", false, false},
		{"0x7f.0.0.1", false, false},
		{"0.0.0.0:10000", false, true},
		{"[::1", false, false},
		{"[::1]evil", false, false},
		{"[127.0.0.1]x", false, false},
		{":10000", false, false},
		{"localhost@evil.example", false, false},
	} {
		if h.Has(v.header) != v.has || h.HasOrIP(v.header) != v.withIP {
			t.Errorf("%q: %t %t, want %t %t", v.header, h.Has(v.header), h.HasOrIP(v.header), v.has, v.withIP)
		}
	}
}

func TestPublicHost(t *testing.T) {
	t.Parallel()
	for text, host := range map[string]string{
		"https://berth.example.org": "berth.example.org", "https://berth.example.org/": "berth.example.org", "http://10.0.0.1:8080": "10.0.0.1",
		"https://[fd00::7]:8443": "fd00::7", "http://localhost": "localhost",
		"berth.example.org": "", "https://": "", "ftp://berth.example.org": "", "https://me@berth.example.org": "", "https://berth.example.org/berth": "",
		"https://berth.example.org?x=1": "", "https://berth.example.org#x": "", "https:berth.example.org": "", "https://be rth": "", "https://be_*": "", "": "", "%": "",
	} {
		if got, err := PublicHost(text); got != host || (err == nil) != (host != "") {
			t.Errorf("%q: %q, %v", text, got, err)
		}
	}
}

func TestOrigin(t *testing.T) {
	for address, want := range map[string]string{
		"127.0.0.1:10000": "http://127.0.0.1:10000", "[::1]:10000": "http://[::1]:10000", "localhost:1": "http://localhost:1",
		"10.0.0.1:10000": "https://10.0.0.1:10000", "gpu.example.org:10000": "https://gpu.example.org:10000", "localhost.example.org:1": "https://localhost.example.org:1",
		"no port": "https://no port",
	} {
		if got := Origin(address); got != want {
			t.Errorf("Origin(%q) = %q, want %q", address, got, want)
		}
	}
}
