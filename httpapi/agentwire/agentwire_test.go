package agentwire

import (
	"bytes"
	"reflect"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// bodies are one of every request and answer, with something in it.
func bodies() []any {
	rank := model.RankKey{Job: 1, N: 1}
	return []any{
		&Register{
			Node: "n1", Boot: "b", CPUs: 8, Labels: "a=b", Devices: []model.Device{{ID: "GPU-1", Model: "H100", MemoryMB: 81559, Idle: true}},
			Reports: []model.Progress{{Rank: rank, Phase: model.RankExited, Exit: model.Exit{Ran: time.Hour}}},
		},
		&Registered{Code: model.CodeInvalid, Detail: "no", Epoch: 3, Verdicts: []model.Code{0, 1}, Peers: []string{"a:1"}},
		&Renew{Node: "n1", Epoch: 1, Seq: 2, Samples: []model.Sample{{GPU: "GPU-1", Utilization: 60}}},
		&Renewed{Newest: 3, Peers: []string{"a:1"}, Voters: []model.PeerID{"p1"}},
		&Silence{Peer: "p1", For: time.Second},
		&Poll{Node: "n1", After: 7, Wait: time.Minute, Fresh: true},
		&Report{Node: "n1", Reports: []model.Progress{{Rank: rank, Phase: model.RankRunning}}},
		&Inventory{Node: "n1", Devices: []model.Device{{ID: "GPU-1"}}},
		&Reported{Verdicts: []model.Code{1}, Index: 9},
		&Fetch{Hash: model.Hash{1, 2, 3}},
		&Content{Data: "A=1\x00B=2"},
		&Tail{Node: "n1", Rank: rank, Stdout: []byte("out")},
		&Samples{Readings: []Reading{{Sample: model.Sample{GPU: "GPU-1"}, Age: time.Second}}, Passes: 4},
		&model.Desired{Ranks: []model.Assignment{{Rank: rank}}},
	}
}

// like is a value of the same type with nothing in it.
func like(v any) any { return reflect.New(reflect.TypeOf(v).Elem()).Interface() }

// FuzzDecode: whatever bytes come in place of a request or an answer, what is taken of
// them is written and read again alike, and nothing may follow it.
func FuzzDecode(f *testing.F) {
	of := bodies()
	for i, v := range of {
		data, err := Encode(v)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint(i), data)
	}
	f.Add(uint(0), []byte{0xbf, 0x0b, 0x9f, 0xff, 0xff})
	f.Add(uint(2), bytes.Repeat([]byte{0x81}, 40))
	f.Fuzz(func(t *testing.T, which uint, data []byte) {
		v := like(of[which%uint(len(of))])
		again := like(v)
		if Decode(data, v) != nil {
			return
		}
		first, err := Encode(v)
		if err != nil {
			t.Fatalf("%+v was read and cannot be written: %v", v, err)
		}
		if err := Decode(first, again); err != nil {
			t.Fatalf("%+v was read and written and cannot be read: %v", v, err)
		}
		if second, err := Encode(again); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%+v becomes %+v, %v", v, again, err)
		}
		if Decode(append(bytes.Clone(data), 0), v) == nil {
			t.Fatalf("a byte after %x is let be", data)
		}
	})
}
