//berth:bubble

package history

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// The leader takes one record a minute, all peers have it soon, and a change of the leader loses none.
func TestAllPeersHaveEachMinute(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(10*time.Minute + 20*time.Second)
		if got := p.all(); len(got) != 11 || got[10].Term != 1 {
			t.Fatalf("after ten minutes: %s", minutes(got))
		}
		p.lead("p2")
		p.pass(5 * time.Minute)
		got := p.all()
		if len(got) != 16 || got[10].Term != 1 || got[11].Term != 2 || got[15].Minute-got[0].Minute != 15 {
			t.Fatalf("after another leader: %s", minutes(got))
		}
	})
}

// A minute without a leader has no record, also later.
func TestAGapStays(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(2 * time.Minute)
		p.toMinute(30)
		was := p.all()
		p.lead("")
		p.pass(10 * time.Minute)
		p.lead("p3")
		p.pass(2 * time.Minute)
		got := p.all()
		if n := len(was); len(got) != n+3 || got[n].Minute-got[n-1].Minute != 10 {
			t.Errorf("%s", minutes(got))
		}
	})
}

// A peer that was down for hours gets what it lacks, before it leads or when it does; what only it has comes to all.
func TestAPeerCatchesUp(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(time.Hour)
		p.end("p3")
		p.pass(5 * time.Hour)
		p.toMinute(30)
		p.start("p3")
		p.pass(5 * time.Second)
		if got := p.all(); len(got) < 360 {
			t.Fatalf("%d records", len(got))
		}
		p.end("p2")
		p.pass(3 * time.Hour)
		p.end("p3")
		p.toMinute(50)
		p.pass(12 * time.Second) // p1 alone has the newest minute
		p.end("p1")
		p.start("p2")
		p.toMinute(10) // of the next one
		p.pass(time.Minute)
		p.lead("p2") // it leads with a lack of three hours
		p.pass(2 * time.Minute)
		p.start("p3")
		p.pass(2 * time.Minute)
		if got := p.all(); len(got) < 9*60-3 || got[len(got)-1].Term != 2 {
			t.Fatalf("%d records after p2 leads", len(got))
		}
		before := len(p.all())
		p.start("p1")
		p.pass(2 * time.Minute)
		got := p.all()
		if len(got) != before+3 { // two minutes, and the one that only p1 had
			t.Errorf("%d records after %d", len(got), before)
		}
	})
}

// A restart of all peers keeps the records, but not those that are older than a day.
func TestARestartKeepsRecords(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(time.Minute)
		now := MinuteOf(model.TimeOf(time.Now()))
		var seeded []Record
		for m := now - Kept - 9; m <= now-10; m++ {
			one := rec(m, 0, int64(m)*7919%512)
			for i := range one.Values {
				one.Values[i] = int64(m) * int64(i+1) % 97
			}
			seeded = append(seeded, one)
		}
		for id := range p.books {
			p.end(id)
			if err := write(p.path(id), "c1", seeded); err != nil {
				t.Fatal(err)
			}
		}
		if info, err := os.Stat(p.path("p1")); err != nil || info.Size() > 100<<10 {
			t.Errorf("the file: %d bytes, %v", info.Size(), err)
		}
		for id := range p.books {
			p.start(id)
		}
		p.pass(5 * time.Minute)
		got := p.all()
		now = MinuteOf(model.TimeOf(time.Now()))
		if n := len(got) - 6; got[0].Minute != now-Kept+1 || !reflect.DeepEqual(got[:n], seeded[len(seeded)-n:]) {
			t.Errorf("%d records, from %d to %d", len(got), got[0].Minute, got[len(got)-1].Minute)
		}
	})
}

// A damaged or foreign file is put aside with a line in the log, and the records come from the other peers.
func TestABadFileIsPutAside(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(time.Hour)
		good, err := os.ReadFile(p.path("p1"))
		if err != nil {
			t.Fatal(err)
		}
		flipped := bytes.Clone(good)
		flipped[len(flipped)/2] ^= 4
		foreign := filepath.Join(p.dir, "foreign")
		if err := write(foreign, "c2", []Record{rec(1, 1, 1)}); err != nil {
			t.Fatal(err)
		}
		other, err := os.ReadFile(foreign)
		if err != nil {
			t.Fatal(err)
		}
		for what, data := range map[string][]byte{"flipped": flipped, "cut off": good[:len(good)/2], "empty": {}, "foreign": other, "another kind": []byte("hello\n")} {
			p.end("p2")
			n := p.logged("history_put_aside")
			if err := os.WriteFile(p.path("p2"), data, 0o600); err != nil {
				t.Fatal(err)
			}
			p.start("p2")
			p.pass(2 * time.Minute)
			if got := p.all(); len(got) < 60 {
				t.Errorf("%s: %d records", what, len(got))
			}
			aside, err := os.ReadFile(p.path("p2") + asideSuffix)
			if err != nil || !bytes.Equal(aside, data) || p.logged("history_put_aside") != n+1 {
				t.Errorf("%s: put aside %d bytes, %v, %d lines in the log", what, len(aside), err, p.logged("history_put_aside")-n)
			}
		}
	})
}

// A file that cannot be written costs nothing but one line in the log, and is written once it can be.
func TestADiskThatTakesNothing(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(time.Minute)
		if err := os.RemoveAll(filepath.Dir(p.path("p1"))); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Dir(p.path("p1")), nil, 0o600); err != nil { // a file in the place of the folder
			t.Fatal(err)
		}
		p.pass(10*time.Minute + 10*time.Second)
		if n := p.logged("history_not_written"); len(p.all()) != 12 || n != 1 {
			t.Errorf("%d records, %d lines in the log", len(p.all()), n)
		}
		if err := os.Remove(filepath.Dir(p.path("p1"))); err != nil {
			t.Fatal(err)
		}
		p.pass(2 * time.Minute)
		if list, err := read(p.path("p1"), "c1"); err != nil || len(list) < 12 {
			t.Errorf("%d records in the file: %v", len(list), err)
		}
	})
}

// A file that cannot be read for a while is not replaced meanwhile: its records come back, next to those taken since.
func TestADiskThatGivesNothing(t *testing.T) {
	inParty(t, func(p *party) {
		p.end("p2") // no other peer has the records
		p.end("p3")
		p.lead("p1")
		p.pass(time.Hour)
		p.end("p1")
		folder := filepath.Dir(p.path("p1"))
		if err := os.Rename(folder, folder+".away"); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(folder, nil, 0o600); err != nil { // a file in the place of the folder
			t.Fatal(err)
		}
		p.start("p1")
		p.pass(3*time.Minute + 10*time.Second)
		if n := len(p.all()); n != 4 || p.logged("history_not_read") != 1 {
			t.Errorf("%d records, %d lines in the log", n, p.logged("history_not_read"))
		}
		if err := errors.Join(os.Remove(folder), os.Rename(folder+".away", folder)); err != nil {
			t.Fatal(err)
		}
		p.pass(2 * time.Minute)
		list, err := read(p.path("p1"), "c1")
		if got := p.all(); len(got) < 65 || err != nil || len(list) != len(got) {
			t.Errorf("%d records, %d in the file: %v", len(got), len(list), err)
		}
	})
}

// A leader whose clock jumps takes no records far from the cluster's time, changes none, and goes on once the clock is right.
func TestAClockJumps(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.pass(time.Hour)
		p.toMinute(30)
		was := p.all()
		for _, jump := range []time.Duration{-30 * time.Minute, -365 * 24 * time.Hour, 30 * time.Minute, 365 * 24 * time.Hour} {
			p.jump("p1", jump)
			p.pass(3 * time.Minute)
			if got := p.all(); !reflect.DeepEqual(got[:len(was)], was) {
				t.Fatalf("a jump of %s changed records", jump)
			}
		}
		if n := p.logged("history_clock"); len(p.all()) != len(was) || n != 1 {
			t.Errorf("%d records after %d, %d lines in the log", len(p.all()), len(was), n)
		}
		p.jump("p1", 0)
		p.pass(3 * time.Minute)
		if got := p.all(); len(got) != len(was)+4 || got[len(was)].Minute-got[len(was)-1].Minute != 12 {
			t.Errorf("%s", minutes(p.all()[len(was)-1:]))
		}
	})
}

// A leader that was replaced without knowing loses its record of the minute to that of the later leader.
func TestALeaderThatWasReplaced(t *testing.T) {
	inParty(t, func(p *party) {
		p.lead("p1")
		p.toMinute(30)
		m := MinuteOf(model.TimeOf(time.Now())) + 1
		p.books["p1"].merge([]Record{rec(m, 1, 5)}, m)
		p.books["p2"].merge([]Record{rec(m, 2, 6)}, m)
		p.lead("p2")
		p.pass(2 * time.Minute)
		for _, r := range p.all() {
			if r.Minute == m && (r.Term != 2 || r.Values[GPUsAllocated] != 6) {
				t.Errorf("%+v counts", r)
			}
		}
	})
}
