package gossip

import (
	"bytes"
	"strings"
	"testing"
)

func sample() Meta {
	return Meta{
		Kind: KindPeer, ID: "peer-1", RaftAddr: "10.0.0.1:7000", APIAddr: "[fe80::1]:10000",
		Level: 300, Version: "v0.1.0-ü",
	}
}

func mustEncode(t testing.TB, m Meta) []byte {
	t.Helper()
	b, err := encodeMeta(m)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestMetaReadsWhatItWrote(t *testing.T) {
	record := mustEncode(t, sample())
	got, leaving, err := decodeMeta(record)
	if err != nil || got != sample() || leaving {
		t.Errorf("got %+v, leaving %v, %v", got, leaving, err)
	}
	got, leaving, err = decodeMeta(markLeaving(record))
	if err != nil || got != sample() || !leaving {
		t.Errorf("departing: got %+v, leaving %v, %v", got, leaving, err)
	}
	if bytes.Equal(record, markLeaving(record)) {
		t.Error("markLeaving changed its argument")
	}
}

// Members of different releases meet during an upgrade, so these bytes hold.
func TestMetaGolden(t *testing.T) {
	const want = "\x01\x00\x01\xac\x02\x06peer-1\x0d10.0.0.1:7000\x0f[fe80::1]:10000\x09v0.1.0-ü"
	if got := mustEncode(t, sample()); string(got) != want {
		t.Errorf("record is %q, want %q", got, want)
	}
	if got, _, err := decodeMeta([]byte(want + "what a later release appends")); err != nil || got != sample() {
		t.Errorf("record of a later release: %+v, %v", got, err)
	}
}

func TestMetaRefusals(t *testing.T) {
	for name, change := range map[string]func(*Meta){
		"no kind":      func(m *Meta) { m.Kind = KindUnknown },
		"strange kind": func(m *Meta) { m.Kind = 77 },
		"no id":        func(m *Meta) { m.ID = "" },
		"not UTF-8":    func(m *Meta) { m.Version = "\xff" },
		"too large":    func(m *Meta) { m.Version = strings.Repeat("x", MaxMeta) },
	} {
		m := sample()
		change(&m)
		if b, err := encodeMeta(m); err == nil {
			t.Errorf("%s: encoded as %q", name, b)
		}
	}
	m := sample()
	m.Version = ""
	m.Version = strings.Repeat("x", MaxMeta-len(mustEncode(t, m))-1) // its length then takes two bytes
	if n := len(mustEncode(t, m)); n != MaxMeta {
		t.Errorf("largest record has %d bytes, want %d", n, MaxMeta)
	}
}

func TestMetaOfStrangers(t *testing.T) {
	record := mustEncode(t, sample())
	for n := range record {
		if m, _, err := decodeMeta(record[:n]); err == nil {
			t.Errorf("the first %d of %d bytes decode as %+v", n, len(record), m)
		}
	}
	for name, b := range map[string]string{
		"empty":        "",
		"other format": "\x02\x00\x01\x00\x01a\x00\x00\x00",
		"huge level":   "\x01\x00\x01\xff\xff\xff\xff\xff\x01\x01a\x00\x00\x00",
		"endless uvar": "\x01\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
		"huge text":    "\x01\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7fa",
		"text":         "owner: somebody else",
		"unknown kind": "\x01\x00\x09\x00\x01a\x00\x00\x00",
	} {
		if m, leaving, err := decodeMeta([]byte(b)); err == nil || m != (Meta{}) || leaving {
			t.Errorf("%s: %+v, %v, %v", name, m, leaving, err)
		}
	}
}

func FuzzDecodeMeta(f *testing.F) {
	f.Add(mustEncode(f, sample()))
	f.Add(markLeaving(mustEncode(f, sample())))
	f.Add([]byte("\x01\x00\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7fa"))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, _, err := decodeMeta(b)
		if err != nil {
			return
		}
		record, err := encodeMeta(m)
		if err != nil {
			if len(b) > MaxMeta {
				return // readable, but more than this release would send
			}
			t.Fatalf("%+v decodes from %d bytes but does not encode: %v", m, len(b), err)
		}
		if again, _, err := decodeMeta(record); err != nil || again != m {
			t.Fatalf("%+v became %+v, %v", m, again, err)
		}
	})
}

func TestNamesOfKindsAndStates(t *testing.T) {
	got := []string{
		KindUnknown.String(), KindPeer.String(), KindNode.String(), Kind(9).String(),
		StateAlive.String(), StateSilent.String(), StateLeft.String(), State(9).String(),
	}
	want := "unknown peer node kind 9 alive silent left state 9"
	if s := strings.Join(got, " "); s != want {
		t.Errorf("%s, want %s", s, want)
	}
}
