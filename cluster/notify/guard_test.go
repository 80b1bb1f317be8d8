package notify

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/fsm/state/statetest"
)

func ruled(t *testing.T, allow string) *rules {
	t.Helper()
	c := statetest.New(t)
	c.Node("n1", 1) // at 10.0.1.1:10002
	c.Do(&command.SetPeer{Peer: model.Peer{ID: "p1", RaftAddress: "10.0.0.1:7000", APIAddress: "10.0.0.1:10000", Level: 1}})
	c.Do(&command.SetNotify{Notify: model.Notify{Allow: allow}})
	return rulesOf(&c.State)
}

func TestForbiddenAddresses(t *testing.T) {
	open := ruled(t, "")
	local := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("192.168.1.5")}
	for _, v := range []struct {
		ip   string
		port uint16
		want bool
	}{
		{"93.184.215.14", 443, true},
		{"2606:2800:21f::1", 443, true},
		{"64:ff9b::93.184.215.14", 443, true}, // NAT64 of a public address
		{"10.1.2.3", 8080, false},
		{"172.16.0.1", 8080, false},
		{"192.168.9.9", 8080, false},
		{"100.64.0.1", 8080, false},
		{"127.0.0.1", 8080, false},
		{"127.8.8.8", 8080, false},
		{"::1", 8080, false},
		{"::ffff:127.0.0.1", 8080, false},
		{"::7f00:1", 8080, false},
		{"fd00::1", 8080, false},
		{"fec0::1", 8080, false},
		{"64:ff9b::10.1.2.3", 8080, false},
		{"64:ff9b:1::93.184.215.14", 8080, false},
		{"64:ff9b:1::10.1.2.3", 8080, false},
		{"2002:a01:203::1", 8080, false},
		{"2002:5db8:d70e::1", 8080, false},
		{"2001:0:5db8:d70e::1", 8080, false},
		{"198.18.0.1", 8080, false},
		{"203.0.113.7", 8080, false},
		{"240.0.0.1", 8080, false},
		{"2001:db8::1", 8080, false},
		{"169.254.169.254", 80, false},
		{"169.254.1.1", 80, false},
		{"fe80::1", 80, false},
		{"fe80::1%eth0", 80, false},
		{"::ffff:169.254.169.254", 80, false},
		{"64:ff9b::a9fe:a9fe", 80, false},
		{"2002:a9fe:a9fe::1", 80, false},
		{"fd00:ec2::254", 80, false},
		{"100.100.100.200", 80, false},
		{"0.0.0.0", 8080, false},
		{"::", 8080, false},
		{"224.0.0.1", 80, false},
		{"255.255.255.255", 80, false},
		{"ff02::1", 80, false},
		{"10.0.0.1", 7000, false}, // the cluster's own
		{"10.0.0.1", 10000, false},
		{"::ffff:10.0.0.1", 10000, false},
		{"127.0.0.1", 10000, false},
		{"192.168.1.5", 7000, false},
		{"10.0.1.1", 10002, false},
	} {
		err := open.permit("example.com", netip.MustParseAddr(v.ip), v.port, local)
		if (err == nil) != v.want {
			t.Errorf("%s port %d: %v", v.ip, v.port, err)
		}
	}
}

// What is listed opens what it lists, and never the cluster's own ports or metadata.
func TestPrivateReceivers(t *testing.T) {
	t.Parallel()
	local := []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	for _, v := range []struct {
		allow, host, ip string
		port            uint16
		want            bool
	}{
		{"10.0.0.0/8", "x", "10.2.3.4", 80, true},
		{"10.0.0.0/8", "x", "::ffff:10.2.3.4", 80, true},
		{"10.0.0.0/8", "x", "64:ff9b::10.2.3.4", 80, true},
		{"10.0.0.0/8", "x", "192.168.0.1", 80, false},
		{"10.0.0.0/8", "x", "93.184.215.14", 80, false},
		{"0.0.0.0/0,::/0", "x", "93.184.215.14", 80, true},
		{"0.0.0.0/0,::/0", "x", "10.2.3.4", 80, false}, // all is not what is private
		{"0.0.0.0/0,::/0", "x", "fd00::1", 80, false},
		{"0.0.0.0/0,10.0.0.0/8", "x", "10.2.3.4", 80, true},
		{"10.0.0.0/7", "x", "10.2.3.4", 80, false},
		{"127.0.0.0/8", "127.0.0.1", "127.0.0.1", 8080, true},
		{"127.0.0.0/8", "127.0.0.1", "127.0.0.1", 10000, false},
		{"127.0.0.1", "localhost", "127.0.0.1", 8080, true},
		{"localhost", "localhost", "127.0.0.1", 8080, true},
		{"hook.corp", "hook.corp", "10.2.3.4", 80, true},
		{"hook.corp", "hook.corp", "127.0.0.1", 80, false},
		{"hook.corp", "hook.corp", "169.254.169.254", 80, false},
		{"*.corp", "hook.corp", "10.2.3.4", 80, false},
		{"*.corp,10.0.0.0/8", "hook.corp", "10.2.3.4", 80, true},
		{"10.0.0.0/8", "x", "10.0.0.1", 7000, false},
		{"169.254.0.0/16", "x", "169.254.169.254", 80, false},
		{"2002::/16", "x", "2002:5db8:d70e::1", 80, true},
		{"2002::/16", "x", "2002:a9fe:a9fe::1", 80, false},
		{"fc00::/7", "x", "fd00:ec2::254", 80, false},
	} {
		if err := ruled(t, v.allow).permit(v.host, netip.MustParseAddr(v.ip), v.port, local); (err == nil) != v.want {
			t.Errorf("allowed %s: %s at %s port %d: %v", v.allow, v.host, v.ip, v.port, err)
		}
	}
}

// What can be known when a webhook is set is refused then.
func TestCheckTarget(t *testing.T) {
	t.Parallel()
	c := statetest.New(t)
	for text, want := range map[string]bool{
		"https://example.com/hook": true, "http://hook.corp:8080": true,
		"http://localhost:8080": false, "http://LOCALHOST.:8080": false, "http://a.localhost": false, "http://127.0.0.1": false,
		"http://[::1]/": false, "http://10.0.0.7/": false, "http://[::ffff:10.0.0.7]/": false, "http://[fd00::1]/": false,
	} {
		if err := CheckTarget(&c.State, text); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
	c.Do(&command.SetNotify{Notify: model.Notify{Allow: "localhost,10.0.0.0/8"}})
	for text, want := range map[string]bool{"http://localhost:8080": true, "http://10.0.0.7/": true, "http://127.0.0.1": false, "http://a.localhost": false} {
		if err := CheckTarget(&c.State, text); (err == nil) != want {
			t.Errorf("with a list: %s: %v", text, err)
		}
	}
}

func TestTheAllowList(t *testing.T) {
	r := ruled(t, "hooks.slack.com, *.example.com,10.0.0.0/8,192.168.7.7")
	for _, v := range []struct {
		host, ip string
		want     bool
	}{
		{"hooks.slack.com", "3.3.3.3", true},
		{"HOOKS.slack.com.", "3.3.3.3", true},
		{"evil-hooks.slack.com", "3.3.3.3", false},
		{"a.example.com", "3.3.3.3", true},
		{"example.com", "3.3.3.3", false},
		{"notexample.com", "3.3.3.3", false},
		{"x", "10.2.3.4", true},
		{"192.168.7.7", "192.168.7.7", true},
		{"localhost", "127.0.0.1", false},
		{"hooks.slack.com", "169.254.169.254", false}, // an allowed name that leads astray
	} {
		if err := r.permit(v.host, netip.MustParseAddr(v.ip), 443, nil); (err == nil) != v.want {
			t.Errorf("%s at %s: %v", v.host, v.ip, err)
		}
	}
	for _, text := range []string{"", "a.b", "*.a.b", "10.0.0.0/8", "::1", "fd00::/8"} {
		if err := model.CheckAllow(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, text := range []string{"10.0.0.0/99", "*", "*.", "a b", "a*b", "x:1"} {
		if model.CheckAllow(text) == nil {
			t.Errorf("%q is taken", text)
		}
	}
}

func TestCheckURL(t *testing.T) {
	for _, text := range []string{"https://example.com/hook?x=1", "http://127.0.0.1:8080", "http://[::1]:8080/x", "http://service:8080/gpu-allocated"} {
		if err := CheckURL(text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{
		"", "example.com", "ftp://example.com", "http://", "http:///x", "https://u:p@example.com", "http://example.com/#x", "http://169.254.169.254/latest",
		"http://[fe80::1]/", "http://0.0.0.0/", "http://exa mple.com", "javascript:alert(1)", "http://example.com/\x00", "https://" + strings.Repeat("a", 3000),
		"http://%zz", "file:///etc/passwd", "http://127.1/", "http://2130706433/", "http://0x7f.1/", "http://0177.0.0.1/", "http://0x7f000001", "http://1.2.3.4.5/", "http://a:b@c/", "http://a..b/",
	} {
		if CheckURL(text) == nil {
			t.Errorf("%.60q is taken", text)
		}
	}
}

// The address that is dialed is the one that was checked, and one bad address of a name
// is enough to refuse it.
func TestDialing(t *testing.T) {
	var dialed []string
	answers := map[string][]netip.Addr{
		"good.example": {netip.MustParseAddr("93.184.215.14")},
		"bad.example":  {netip.MustParseAddr("93.184.215.14"), netip.MustParseAddr("169.254.169.254")},
		"none.example": {},
	}
	w := &World{
		Resolve: func(_ context.Context, host string) ([]netip.Addr, error) {
			list, known := answers[host]
			if !known {
				return nil, errors.New("no such host")
			}
			return list, nil
		},
		Dial: func(_ context.Context, _, address string) (net.Conn, error) {
			dialed = append(dialed, address)
			a, _ := net.Pipe()
			return a, nil
		},
		Local: func() []netip.Addr { return nil },
	}
	r := ruled(t, "")
	conn, err := w.dial(t.Context(), r, "tcp", "good.example:443")
	if err != nil || len(dialed) != 1 || dialed[0] != "93.184.215.14:443" {
		t.Fatalf("dialed %v: %v", dialed, err)
	}
	_ = conn.Close()
	for _, address := range []string{"bad.example:80", "none.example:80", "unknown.example:80", "169.254.169.254:80", "good.example", "good.example:99999"} {
		if _, err := w.dial(t.Context(), r, "tcp", address); err == nil {
			t.Errorf("%s was reached", address)
		}
	}
	if len(dialed) != 1 {
		t.Errorf("dialed %v", dialed)
	}
}

// A site's networks open its private addresses, and nothing else: neither loopback, link-local addresses and metadata, nor the ports of
// members, by address or by name.
func TestTheNetworksOfASite(t *testing.T) {
	const site = "0.0.0.0/0,::/0,10.0.0.0/16,10.1.0.0/16,fd00:1::/48"
	here := []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	for _, v := range []struct {
		allow, ip string
		port      uint16
		want      bool
	}{
		{site, "10.0.7.7", 8080, true},
		{site, "fd00:1::5", 8080, true},
		{site, "93.184.215.14", 443, true},
		{site, "2606:2800:21f::1", 443, true},
		{site, "10.2.7.7", 8080, false},
		{site, "192.168.1.1", 8080, false},
		{site, "fd00:2::5", 8080, false},
		{site, "127.0.0.1", 8080, false},
		{site, "::1", 8080, false},
		{site, "169.254.169.254", 80, false},
		{site, "fe80::1", 80, false},
		{site, "fd00:ec2::254", 80, false},
		{site, "10.0.0.1", 10000, false},
		{site, "10.0.0.1", 7000, false},
		{site, "10.0.1.1", 10002, false},
		{site, "64:ff9b::10.0.0.1", 10000, false},
		{site, "::ffff:10.0.0.1", 10000, false},
		{PublicAndLoopback, "127.0.0.1", 8080, true},
		{PublicAndLoopback, "::1", 8080, true},
		{PublicAndLoopback, "127.0.0.1", 10000, false},
		{PublicAndLoopback, "::1", 10002, false},
		{PublicAndLoopback, "10.0.7.7", 8080, false},
		{PublicAndLoopback, "169.254.169.254", 80, false},
		{PublicAndLoopback, "93.184.215.14", 443, true},
	} {
		if err := ruled(t, v.allow).permit("hook.corp", netip.MustParseAddr(v.ip), v.port, here); (err == nil) != v.want {
			t.Errorf("%s: %s port %d: %v", v.allow, v.ip, v.port, err)
		}
	}
}

// A name of the site that leads to loopback, to metadata or to a member is refused when it is dialed, whatever other addresses it has.
func TestNamesOfASiteAreCheckedWhenDialed(t *testing.T) {
	for _, v := range []struct {
		list []string
		port string
		want bool
	}{
		{[]string{"10.0.7.7"}, "8080", true},
		{[]string{"10.0.7.7", "127.0.0.1"}, "8080", false},
		{[]string{"127.0.0.1"}, "8080", false},
		{[]string{"169.254.169.254"}, "80", false},
		{[]string{"10.0.0.1"}, "10000", false},
		{[]string{"10.0.1.1"}, "10002", false},
		{[]string{"fd00:1::9"}, "8080", true},
		{[]string{"10.0.7.7", "10.9.0.1"}, "8080", false},
	} {
		dialed := ""
		w := &World{
			Resolve: func(context.Context, string) (out []netip.Addr, err error) {
				for _, text := range v.list {
					out = append(out, netip.MustParseAddr(text))
				}
				return out, nil
			},
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				dialed = address
				return nil, errors.New("no answer")
			},
			Local: func() []netip.Addr { return nil },
		}
		_, err := w.dial(t.Context(), ruled(t, "0.0.0.0/0,::/0,10.0.0.0/16,fd00:1::/48"), "tcp", net.JoinHostPort("hook.corp", v.port))
		var forbidden *ForbiddenError
		if refused := errors.As(err, &forbidden); refused == v.want || (dialed != "") != v.want {
			t.Errorf("%v port %s: dialed %q, %v", v.list, v.port, dialed, err)
		}
	}
}
