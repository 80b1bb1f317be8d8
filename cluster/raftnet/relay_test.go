package raftnet

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"
)

const ms = time.Millisecond

// rig is a relay between a test that plays the wire and one that plays raft's main goroutine.
type rig struct {
	*relay
	wire chan incoming
}

func withRelay(t *testing.T, limit time.Duration, f func(t *testing.T, r *rig)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		wire := make(chan incoming)
		r := &rig{newRelay(wire, &book{}, relayLimits{limit, time.Second}, checks{}), wire}
		go r.run()
		f(t, r)
		close(r.stop)
		<-r.stopped
	})
}

func (r *rig) send(command any) <-chan raft.RPCResponse {
	answer := make(chan raft.RPCResponse, 1)
	r.wire <- incoming{RPC: raft.RPC{Command: command, RespChan: answer}}
	synctest.Wait()
	return answer
}

// acknowledge lets raft accept a heartbeat of the leader in the term.
func (r *rig) acknowledge(t *testing.T, term uint64) {
	t.Helper()
	answer := r.send(heartbeat(leader, term))
	rpc := <-r.out
	rpc.Respond(accepted(term).Response, nil)
	wantAnswer(t, answer, true)
}

func wantAnswer(t *testing.T, answer <-chan raft.RPCResponse, want bool) {
	t.Helper()
	synctest.Wait()
	select {
	case got := <-answer:
		if !want {
			t.Errorf("answered %+v, want no answer", got)
		}
	default:
		if want {
			t.Error("no answer")
		}
	}
}

func (r *rig) wantNothingFor(t *testing.T, d time.Duration) {
	t.Helper()
	select {
	case rpc := <-r.out:
		t.Errorf("raft was given a %T", rpc.Command)
	case <-time.After(d):
	}
}

func TestBusyAnswerBeforeRaftTookTheHeartbeat(t *testing.T) {
	withRelay(t, time.Minute, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		answer := r.send(heartbeat(leader, 5))
		time.Sleep(19 * ms)
		wantAnswer(t, answer, false)
		time.Sleep(ms)
		wantAnswer(t, answer, true)
		r.wantNothingFor(t, time.Second) // it was dropped
		if r.counts.inPlace.Load() != 1 {
			t.Error("the answer was not counted")
		}
	})
}

func TestBusyAnswerAfterRaftTookTheHeartbeat(t *testing.T) {
	withRelay(t, time.Minute, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		answer := r.send(heartbeat(leader, 5))
		rpc := <-r.out
		time.Sleep(20 * ms)
		wantAnswer(t, answer, true)
		rpc.Respond(accepted(5).Response, nil)
		wantAnswer(t, answer, false) // raft's own came too late
		r.acknowledge(t, 5)          // and the relay goes on
	})
}

func TestBusyAnswersGoOnBehindASlowRequest(t *testing.T) {
	withRelay(t, time.Minute, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		entries := r.send(&raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, LeaderCommitIndex: 1})
		rpc := <-r.out
		for range 10 {
			answer := r.send(heartbeat(leader, 5))
			time.Sleep(20 * ms)
			wantAnswer(t, answer, true)
		}
		rpc.Respond(accepted(5).Response, nil)
		wantAnswer(t, entries, true)
	})
}

func TestHeartbeatOfAnUnknownTermWaits(t *testing.T) {
	withRelay(t, time.Minute, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		later := r.send(heartbeat(leader, 6))
		known := r.send(heartbeat(leader, 5))
		time.Sleep(time.Second)
		wantAnswer(t, later, false)
		wantAnswer(t, known, true)
		rpc := <-r.out
		rpc.Respond(accepted(6).Response, nil)
		wantAnswer(t, later, true)
	})
}

func TestNoBusyAnswerAfterAVote(t *testing.T) {
	withRelay(t, time.Minute, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		vote := r.send(&raft.RequestVoteRequest{Term: 6})
		rpc := <-r.out
		during := r.send(heartbeat(leader, 5))
		time.Sleep(20 * ms)
		wantAnswer(t, during, true) // the vote has not left
		rpc.Respond(&raft.RequestVoteResponse{Term: 6, Granted: true}, nil)
		wantAnswer(t, vote, true)
		after := r.send(heartbeat(leader, 5))
		time.Sleep(time.Second)
		wantAnswer(t, after, false)
		(<-r.out).RespChan <- raft.RPCResponse{Response: &raft.AppendEntriesResponse{Term: 6}}
		wantAnswer(t, after, true)
	})
}

func TestBusyAnswersEnd(t *testing.T) {
	withRelay(t, time.Second, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		time.Sleep(time.Second)
		answer := r.send(heartbeat(leader, 5))
		time.Sleep(time.Minute)
		wantAnswer(t, answer, false)
	})
}

func TestNoLimitNoBusyAnswers(t *testing.T) {
	withRelay(t, 0, func(t *testing.T, r *rig) {
		r.acknowledge(t, 5)
		answer := r.send(heartbeat(leader, 5))
		time.Sleep(time.Minute)
		wantAnswer(t, answer, false)
	})
}

// TestSilentSnapshotSenderIsGivenUp: raft gets an error, and the connection an answer only once nothing
// reads from it any more.
func TestSilentSnapshotSenderIsGivenUp(t *testing.T) {
	withRelay(t, 0, func(t *testing.T, r *rig) {
		source, sender := io.Pipe()
		answer := make(chan raft.RPCResponse, 1)
		r.wire <- incoming{RPC: raft.RPC{Command: &raft.InstallSnapshotRequest{Size: 100}, Reader: source, RespChan: answer}}
		rpc := <-r.out
		go func() {
			for range 5 { // slow is not silent
				_, _ = sender.Write([]byte("0123456789"))
				time.Sleep(900 * ms)
			}
		}()
		start := time.Now()
		data, err := io.ReadAll(rpc.Reader)
		if len(data) != 50 || !errors.Is(err, errSilent) || time.Since(start) != 4600*ms {
			t.Errorf("%d bytes, %v after %v", len(data), err, time.Since(start))
		}
		rpc.Respond(&raft.InstallSnapshotResponse{}, err)
		wantAnswer(t, answer, false)
		r.acknowledge(t, 5) // raft is free
		_ = sender.Close()
		wantAnswer(t, answer, true)
	})
}

func TestMalformedRequestsDoNotReachRaft(t *testing.T) {
	configuration := raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "n0", Address: "n0:1"}}})
	entries := func(prev uint64, logs ...*raft.Log) *raft.AppendEntriesRequest {
		return &raft.AppendEntriesRequest{RPCHeader: leader, Term: 5, PrevLogEntry: prev, Entries: logs}
	}
	snapshot := func(size int64, configuration []byte) *raft.InstallSnapshotRequest {
		return &raft.InstallSnapshotRequest{SnapshotVersion: 1, Term: 5, Size: size, Configuration: configuration}
	}
	for name, c := range map[string]struct {
		command any
		refused bool
	}{
		"sound entries":            {entries(7, &raft.Log{Index: 8, Term: 4}, &raft.Log{Index: 9, Term: 5}), false},
		"sound configuration":      {entries(7, &raft.Log{Index: 8, Term: 5, Type: raft.LogConfiguration, Data: configuration}), false},
		"sound snapshot":           {snapshot(3, configuration), false},
		"nil entry":                {entries(7, &raft.Log{Index: 8, Term: 5}, nil), true},
		"gap":                      {entries(7, &raft.Log{Index: 9, Term: 5}), true},
		"entry of a later term":    {entries(7, &raft.Log{Index: 8, Term: 6}), true},
		"entry of no term":         {entries(7, &raft.Log{Index: 8}), true},
		"request of no term":       {heartbeat(leader, 0), true},
		"unreadable configuration": {entries(7, &raft.Log{Index: 8, Term: 5, Type: raft.LogConfiguration, Data: []byte{0xc1}}), true},
		"snapshot below zero":      {snapshot(-1, configuration), true},
		"snapshot for no peer":     {snapshot(3, []byte{0xc1}), true},
	} {
		t.Run(name, func(t *testing.T) {
			withRelay(t, 0, func(t *testing.T, r *rig) {
				answer, data := make(chan raft.RPCResponse, 1), strings.NewReader("abc")
				rpc := raft.RPC{Command: c.command, RespChan: answer}
				if _, ok := c.command.(*raft.InstallSnapshotRequest); ok {
					rpc.Reader = data
				}
				r.wire <- incoming{RPC: rpc}
				synctest.Wait()
				select {
				case got := <-answer:
					if !c.refused || got.Error == nil || !strings.Contains(got.Error.Error(), "malformed") {
						t.Error("answered:", got.Error)
					}
					if rpc.Reader != nil && data.Len() > 0 {
						t.Error("the snapshot's bytes are left on the connection")
					}
				case <-r.out:
					if c.refused {
						t.Error("raft was given it")
					}
				}
			})
		})
	}
}

// FuzzCheck: no configuration from the wire ends the process.
func FuzzCheck(f *testing.F) {
	f.Add(raft.EncodeConfiguration(raft.Configuration{Servers: []raft.Server{{ID: "n0", Address: "n0:1"}}}))
	f.Add([]byte{0xc1})
	f.Fuzz(func(t *testing.T, data []byte) {
		data = bytes.Clone(data)
		if checkConfiguration(data) == nil {
			raft.DecodeConfiguration(data)
		}
	})
}

// A leader is heard when its message comes in, whatever becomes of it; others are not.
func TestHeard(t *testing.T) {
	withRelay(t, 10*time.Second, func(t *testing.T, r *rig) {
		time.Sleep(5 * time.Second)
		if got := r.heard.since(); got != 5*time.Second {
			t.Errorf("no leader was heard since the start, for %s", got)
		}
		r.send(&raft.RequestVoteRequest{})
		if got := r.heard.since(); got != 5*time.Second {
			t.Errorf("a candidate passes for a leader: %s", got)
		}
		r.send(heartbeat(leader, 1)) // raft does not take it
		time.Sleep(2 * time.Second)
		if got := r.heard.since(); got != 2*time.Second {
			t.Errorf("a leader was heard %s ago, want 2s", got)
		}
	})
}
