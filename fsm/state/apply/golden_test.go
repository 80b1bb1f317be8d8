package apply

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/fsm/state"
	"github.com/berth-gpu/berth/fsm/state/snapshot"
)

var update = flag.Bool("update", false, "record the log of this feature level, if there is none")

// recorded returns a file of a feature level: its log of entries, each after its length, or the
// digest that they lead to. Whatever Apply becomes, it must lead there from here.
func recorded(level uint32, ending string) string {
	return filepath.Join("testdata", fmt.Sprintf("level%d.%s", level, ending))
}

const recordedEntries = 1500

// RecordedLogs replays logs that former programs wrote: the outcomes of a
// released feature level are frozen. A change of them needs a new level and a new
// log next to these. Until the first release the log of the newest level is recorded again.
func RecordedLogs(t *testing.T, checks Checks) {
	for level := uint32(1); level <= command.Level; level++ {
		t.Run(fmt.Sprint(level), func(t *testing.T) { replayRecorded(t, level, checks) })
	}
}

func replayRecorded(t *testing.T, level uint32, checks Checks) {
	data, err := os.ReadFile(recorded(level, "log"))
	if os.IsNotExist(err) && *update && level == command.Level {
		data = record(t)
	} else if err != nil {
		t.Fatalf("%v (record it with -update)", err)
	}
	s, done := replay(t, data)
	want, err := os.ReadFile(recorded(level, "digest"))
	sum := s.Digest()
	if got := hex.EncodeToString(sum[:]); err != nil || got != strings.TrimSpace(string(want)) {
		t.Errorf("the recorded log leads to digest %s, it led to %s: what a command does at a released feature level "+
			"must not change", got, want)
	}
	sameSnapshot(t, level, &s)
	for _, k := range command.Kinds() {
		if done[k] == 0 && k.Level() <= level {
			t.Errorf("the recorded log carries out no %s command", k)
		}
	}
	if err := checks.State(&s); err != nil {
		t.Error(err)
	}
}

// sameSnapshot compares the snapshot of a state with that of the program of its feature level, by the SHA-256. Such a program reads
// what a newer one has written, when a peer goes back to it or follows a newer leader. A new table must be left out of
// a snapshot while it has no rows.
func sameSnapshot(t *testing.T, level uint32, s *state.State) {
	t.Helper()
	sum := sha256.New()
	if err := snapshot.Write(s, sum); err != nil {
		t.Fatal(err)
	}
	got := hex.EncodeToString(sum.Sum(nil))
	want, err := os.ReadFile(recorded(level, "snapshot"))
	if os.IsNotExist(err) && *update && level == command.Level {
		save(t, recorded(level, "snapshot"), []byte(got+"\n"))
	} else if err != nil || got != strings.TrimSpace(string(want)) {
		t.Errorf("the snapshot of the state is %s, that of the program of level %d %s (%v): such a program could not read it", got, level, want, err)
	}
}

func replay(t *testing.T, data []byte) (s state.State, done map[command.Kind]int) {
	t.Helper()
	done = map[command.Kind]int{}
	for len(data) > 0 {
		size, n := binary.Uvarint(data)
		if n <= 0 || uint64(len(data)-n) < size {
			t.Fatalf("the log is cut off after entry %d", s.Index)
		}
		var o outcome
		s, o = logEntry{s.Index + 1, data[n : n+int(size)]}.apply(t, s)
		for i := range o.results {
			if o.results[i].OK() {
				done[o.commands[i].Kind()]++
			}
		}
		data = data[n+int(size):]
	}
	return s, done
}

// record draws a log of the newest level by the generator, of the first seed whose log
// carries out every kind.
func record(t *testing.T) []byte {
	t.Helper()
	for seed := range uint64(1000) {
		var out bytes.Buffer
		done := map[command.Kind]bool{}
		s := write(t, newGen(seeded(1000+seed)), state.State{}, recordedEntries, func(_, _ state.State, e logEntry, o outcome) {
			out.Write(binary.AppendUvarint(nil, uint64(len(e.Data))))
			out.Write(e.Data)
			for i := range o.results {
				done[o.commands[i].Kind()] = done[o.commands[i].Kind()] || o.results[i].OK()
			}
		})
		if n := 0; len(done) == len(command.Kinds()) {
			for _, ok := range done {
				if ok {
					n++
				}
			}
			if n < len(done) || s.Settings().Level < command.Level {
				continue
			}
			sum := s.Digest()
			save(t, recorded(command.Level, "log"), out.Bytes())
			save(t, recorded(command.Level, "digest"), []byte(hex.EncodeToString(sum[:])+"\n"))
			return out.Bytes()
		}
	}
	t.Fatal("no seed gave a log of every kind")
	return nil
}

func save(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
