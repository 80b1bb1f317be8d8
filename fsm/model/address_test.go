package model

import (
	"net/netip"
	"testing"
)

// An address that another machine reports is that of one machine, and no text in which
// more can hide.
func TestReportedAddresses(t *testing.T) {
	t.Parallel()
	for _, v := range []struct {
		text string
		ok   bool
	}{
		{"10.0.0.7:7070", true},
		{"127.0.0.1:1", true},
		{"[fd00::7]:7070", true},
		{"[::1]:65535", true},
		{"gpu1.example.org:7070", true},
		{"p_1:7070", true},
		{"gpu1", false},
		{"10.0.0.7", false},
		{"10.0.0.7:0", false},
		{"10.0.0.7:070", false},
		{"10.0.0.7:70707", false},
		{"127.0.0.1:15555/latest/meta-data/iam?x=", false},
		{"10.0.0.7:7070?x=", false},
		{"10.0.0.7:7070#", false},
		{"u@10.0.0.7:7070", false},
		{"10.0.0.7:7070 ", false},
		{"10.0.0.7\r\n:7070", false},
		{"-x:7070", false},
		{"[fe80::1%eth0]:7070", false},
		{"[fe80::1]:7070", false},
		{"169.254.169.254:80", false},
		{"[::ffff:169.254.169.254]:80", false},
		{"[64:ff9b::a9fe:a9fe]:80", false},
		{"[64:ff9b:1::a9fe:a9fe]:80", false},
		{"[64:ff9b:1:a9fe:a9:fe00::]:80", false},
		{"[2002:a9fe:a9fe::1]:80", false},
		{"[2001:0:a9fe:a9fe::1]:80", false},
		{"[2001:0:1:1::5601:5601]:80", false},
		{"[fd00::5efe:a9fe:a9fe]:80", false},
		{"[::a9fe:a9fe]:80", false},
		{"[fd00:ec2::254]:80", false},
		{"100.100.100.200:80", false},
		{"0.0.0.0:80", false},
		{"0.0.0.1:80", false},
		{"[::]:80", false},
		{"224.0.0.1:80", false},
		{"255.255.255.255:80", false},
		{"[ff02::1]:80", false},
		{"", false},
	} {
		if err := CheckHostPort(v.text); (err == nil) != v.ok {
			t.Errorf("%q: %v", v.text, err)
		}
	}
}

func TestEmbeddedIPv4(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"::ffff:10.0.0.1": "10.0.0.1", "64:ff9b::10.0.0.1": "10.0.0.1", "2002:a00:1::": "10.0.0.1", "64:ff9b:1::a00:1": "10.0.0.1",
		"2001:db8::1": "", "::1": "", "::": "", "10.0.0.1": "", "fd00::1": "",
	} {
		got := ""
		if list := EmbeddedIPv4(netip.MustParseAddr(text)); len(list) > 0 {
			got = list[0].String()
		}
		if got != want {
			t.Errorf("%s leads to %q, want %q", text, got, want)
		}
	}
}
