package gossip

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
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

// testConfig returns a peer.
func testConfig(id string) Config { return configOf(KindPeer, id) }

func configOf(kind Kind, id string) Config {
	return Config{
		Meta:    Meta{Kind: kind, ID: id, APIAddr: "127.0.0.1:10000"},
		Network: named(NameOf(kind, id)),
		Bind:    loopback(),
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
		for _, b := range poison() {
			if err := exchangeAs("node/evil", g, b); err != nil {
				return err
			}
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
		mc := memberlist.DefaultLANConfig() // without the transport, the guard
		mc.Name, mc.BindAddr, mc.BindPort = "victim", "127.0.0.1", 0
		own := &self{}
		mc.Delegate = own
		mc.Logger = log.New(os.Stdout, "", 0)
		record := []byte{}
		own.record.Store(&record)
		list, err := memberlist.Create(mc)
		if err != nil {
			return err
		}
		conn, err := net.Dial("tcp", list.LocalNode().Address())
		if err != nil {
			return err
		}
		if _, err := conn.Write(poison()[0]); err != nil {
			return err
		}
		_, _ = io.ReadAll(conn)
		return nil
	},
	"record/guarded": func() error {
		cfg := testConfig("victim")
		cfg.Meta.Version = strings.Repeat("x", memberlist.MetaMaxSize)
		if _, err := Start(cfg); err == nil {
			return errors.New("started with a record that is too large")
		}
		return nil
	},
	"record/unguarded": func() error {
		big := bytes.Repeat([]byte{1}, memberlist.MetaMaxSize+1)
		s := new(self)
		s.record.Store(&big) // past encodeMeta, the guard
		mc := memberlist.DefaultLANConfig()
		mc.BindAddr, mc.BindPort, mc.Delegate = "127.0.0.1", 0, s
		mc.Logger = log.New(os.Stdout, "", 0)
		_, err := memberlist.Create(mc)
		return err
	},
}

// exchangeAs sends a list in the name of a member, and waits until that was dealt with.
func exchangeAs(name string, to *Gossip, b []byte) error {
	conn, err := connect(name, to, carriesLists)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if _, err := conn.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...)); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(20 * time.Second)); err != nil {
		return err
	}
	_, err = io.ReadAll(conn)
	var timeout net.Error
	if errors.As(err, &timeout) && timeout.Timeout() {
		return errors.New("the receiver did not deal with the message")
	}
	return nil
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
