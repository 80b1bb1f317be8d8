package gossip

import (
	"bytes"
	"compress/lzw"
	"errors"
	"fmt"
	"log"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/memberlist"
)

// The hazards here end the process, so each runs in a child: this test binary again, with the scenario in
// scenarioEnv.
const (
	scenarioEnv = "BERTH_GOSSIP_SCENARIO"
	survived    = "the process lives"
)

func loopback() netip.AddrPort { return netip.MustParseAddrPort("127.0.0.1:0") }

func testConfig(name string) Config {
	return Config{
		Name:  name,
		Meta:  Meta{Kind: KindPeer, ID: "id-" + name, APIAddr: "127.0.0.1:10000"},
		Keys:  [][]byte{bytes.Repeat([]byte{1}, 32)},
		Label: "test",
		Bind:  loopback(),
	}
}

// scenarios maps each hazard, with the guard on and off, to what plays it.
var scenarios = map[string]func() error{
	"message/guarded": func() error {
		g, err := Start(testConfig("victim"))
		if err != nil {
			return err
		}
		defer func() { _ = g.Close() }()
		if err := sendCrafted(g.Addr().String()); err != nil {
			return err
		}
		friend, err := Start(testConfig("friend"))
		if err != nil {
			return err
		}
		defer func() { _ = friend.Close() }()
		if n, err := friend.Join(friend.ctx, []string{g.Addr().String()}); n != 1 {
			return fmt.Errorf("victim no longer answers: %w", err)
		}
		return nil
	},
	"message/unguarded": func() error {
		mc, err := unguarded(new(self))
		if err != nil {
			return err
		}
		mc.Keyring = nil // the guard, off
		list, err := memberlist.Create(mc)
		if err != nil {
			return err
		}
		return sendCrafted(list.LocalNode().Address())
	},
	"record/guarded": func() error {
		cfg := testConfig("victim")
		cfg.Meta.Version = strings.Repeat("x", memberlist.MetaMaxSize)
		if _, err := Start(cfg); err == nil {
			return errors.New("started with a record that is too large")
		}
		g, err := Start(testConfig("victim"))
		if err != nil {
			return err
		}
		defer func() { _ = g.Close() }()
		if g.SetMeta(cfg.Meta) == nil {
			return errors.New("took a record that is too large")
		}
		return nil
	},
	"record/unguarded": func() error {
		big := bytes.Repeat([]byte{1}, memberlist.MetaMaxSize+1)
		s := new(self)
		s.record.Store(&big) // past encodeMeta, the guard
		mc, err := unguarded(s)
		if err != nil {
			return err
		}
		_, err = memberlist.Create(mc)
		return err
	},
}

// unguarded returns what Start would give to memberlist, for a scenario to spoil.
func unguarded(s *self) (*memberlist.Config, error) {
	cfg := testConfig("victim")
	if s.record.Load() == nil {
		s.record.Store(new([]byte))
	}
	n := newNotes(nil)
	mc, err := cfg.memberlist(s, newRoster(cfg.Name, n), n)
	if err == nil {
		mc.Logger = log.New(os.Stdout, "", 0)
	}
	return mc, err
}

// sendCrafted sends one message that any sender can make: the right label, which travels in the clear, and a
// compressed payload of nothing. It returns when the receiver has dealt with it.
func sendCrafted(addr string) error {
	const compressed = 9 // memberlist's message type
	var nothing bytes.Buffer
	if err := lzw.NewWriter(&nothing, lzw.LSB, 8).Close(); err != nil {
		return err
	}
	payload := append([]byte("\x82\xa4Algo\x00\xa3Buf"), 0xa0|byte(nothing.Len()))
	payload = append(payload, nothing.Bytes()...)

	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if err := memberlist.AddLabelHeaderToStream(conn, "test"); err != nil {
		return err
	}
	if _, err := conn.Write(append([]byte{compressed}, payload...)); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	for buf := make([]byte, 512); ; {
		if _, err := conn.Read(buf); err != nil {
			var timeout net.Error
			if errors.As(err, &timeout) && timeout.Timeout() {
				return errors.New("the receiver did not deal with the message")
			}
			return nil
		}
	}
}

// TestScenario plays one scenario in a child process.
func TestScenario(t *testing.T) {
	play := scenarios[os.Getenv(scenarioEnv)]
	if play == nil {
		t.Skip("needs to be a child of TestHazards")
	}
	if err := play(); err != nil {
		t.Fatal(err)
	}
	fmt.Println(survived)
}

// TestHazards shows that the hazards are real and that the guards hold them off.
func TestHazards(t *testing.T) {
	for _, c := range []struct {
		scenario string
		panics   string // text of the panic that kills the child; none if empty
	}{
		{"message/guarded", ""},
		{"message/unguarded", "panic: runtime error: index out of range"},
		{"record/guarded", ""},
		{"record/unguarded", "panic: Node meta data provided is longer than the limit"},
	} {
		t.Run(c.scenario, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestScenario$", "-test.timeout=60s") //nolint:gosec // ourselves
			cmd.Env = append(os.Environ(), scenarioEnv+"="+c.scenario)
			out, err := cmd.CombinedOutput()
			if c.panics == "" && (err != nil || !bytes.Contains(out, []byte(survived))) {
				t.Errorf("the guard does not hold: %v\n%s", err, out)
			}
			if c.panics != "" && (err == nil || !bytes.Contains(out, []byte(c.panics))) {
				t.Errorf("without the guard the process should die of %q, but: %v\n%s", c.panics, err, out)
			}
		})
	}
}
