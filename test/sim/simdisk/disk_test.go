package simdisk_test

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/raft"

	"github.com/berth-gpu/berth/test/sim/simdisk"
)

func TestAcknowledgedWritesSurviveEverything(t *testing.T) {
	disk := simdisk.New(1)
	h := disk.Open()
	check(t, h.Logs().StoreLogs(entries(1, 1, 10)))
	check(t, h.Logs().DeleteRange(1, 2))
	check(t, h.Stable().SetUint64([]byte("term"), 4))
	check(t, begin(t, h.Snapshots(), 1, 5, "five").Close())
	check(t, h.Files().Write("peer.json", []byte("p1")))
	h.Kill()
	copied := simdisk.New(2)
	disk.CopyTo(copied)
	for name, d := range map[string]*simdisk.Disk{
		"kill": disk, "clone": disk.Clone(), "power cut": disk.PowerCut(rand.New(rand.NewPCG(1, 1))), "copy": copied,
	} {
		t.Run(name, func(t *testing.T) {
			h := d.Open()
			wantRange(t, h.Logs(), 3, 10)
			if term, err := h.Stable().GetUint64([]byte("term")); err != nil || term != 4 {
				t.Errorf("term %d, %v", term, err)
			}
			if got := listed(t, h.Snapshots()); got != "1-5 " {
				t.Errorf("snapshots %s", got)
			}
			if b, err := h.Files().Read("peer.json"); err != nil || string(b) != "p1" {
				t.Errorf("peer.json %q, %v", b, err)
			}
		})
	}
}

// TestUnfinishedWrites cuts in at every moment of a write of 10 ms and a sync
// of 10 ms.
func TestUnfinishedWrites(t *testing.T) {
	var killed, cut, lostByCut int
	for at := range 40 {
		synctest.Test(t, func(t *testing.T) {
			disk := simdisk.New(uint64(at))
			disk.SetLatency(simdisk.Latency{Write: 10 * time.Millisecond, Sync: 10 * time.Millisecond})
			h := disk.Open()
			acked := false
			go func() { acked = h.Logs().StoreLogs(entries(1, 1, 1)) == nil }()
			time.Sleep(time.Duration(at) * time.Millisecond)
			synctest.Wait()
			before := acked
			clone := disk.Clone()
			power := disk.PowerCut(rand.New(rand.NewPCG(uint64(at), 9)))
			afterKill, afterCut := last(t, clone), last(t, power)
			if before && (afterKill != 1 || afterCut != 1) {
				t.Errorf("at %d ms an acknowledged write was lost: %d after a kill, %d after a power cut", at, afterKill, afterCut)
			}
			if !before {
				killed += int(afterKill)
				cut += int(afterCut)
				lostByCut += int(afterKill - afterCut)
			}
			if afterCut > afterKill {
				t.Errorf("at %d ms a power cut kept more than a kill", at)
			}
			h.Kill()
			time.Sleep(time.Hour)
		})
	}
	if killed == 0 || cut == 0 || lostByCut == 0 {
		t.Errorf("written and not acknowledged: %d times there after a kill, %d after a power cut, %d lost by it", killed, cut, lostByCut)
	}
}

// last opens a disk without latency and returns the log's last index.
func last(t *testing.T, d *simdisk.Disk) uint64 {
	t.Helper()
	d.SetLatency(simdisk.Latency{})
	n, err := d.Open().Logs().LastIndex()
	check(t, err)
	return n
}

// TestZombies: writes of a killed process have no effect.
func TestZombies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := simdisk.New(1)
		zombie := disk.Open()
		check(t, zombie.Logs().StoreLogs(entries(1, 1, 3)))
		disk.Stall(time.Hour)
		done := make(chan error, 1)
		go func() { done <- zombie.Logs().StoreLogs(entries(1, 4, 4)) }()
		synctest.Wait()
		start := time.Now()
		zombie.Kill()
		zombie.Kill()
		check(t, <-done)
		if time.Since(start) != 0 {
			t.Errorf("the killed process was held up for %v by a disk that it no longer has", time.Since(start))
		}
		wantRange(t, zombie.Logs(), 1, 4)
		disk.Heal()
		heir := disk.Open()
		wantRange(t, heir.Logs(), 1, 3)
		check(t, heir.Logs().StoreLogs(entries(2, 4, 6)))
		check(t, zombie.Logs().StoreLogs(entries(1, 5, 9)))
		wantEntry(t, heir.Logs(), 5, 2)
		wantRange(t, heir.Logs(), 1, 6)

		next := disk.Open() // takes the folder from the heir
		check(t, heir.Logs().DeleteRange(1, 6))
		wantRange(t, next.Logs(), 1, 6)
	})
}

func TestWipeAndCopy(t *testing.T) {
	a, b := simdisk.New(1), simdisk.New(2)
	old := a.Open()
	check(t, old.Stable().SetUint64([]byte("term"), 1))
	a.CopyTo(b)
	check(t, old.Stable().SetUint64([]byte("term"), 2))
	a.Wipe()
	check(t, old.Stable().SetUint64([]byte("term"), 3))
	if _, err := a.Open().Stable().GetUint64([]byte("term")); err == nil {
		t.Error("a wiped disk has a term")
	}
	if term, err := b.Open().Stable().GetUint64([]byte("term")); err != nil || term != 1 {
		t.Errorf("the copy has term %d, %v", term, err)
	}
}

func TestLatencyAndStalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		disk := simdisk.New(1)
		l := disk.Open().Logs()
		disk.SetLatency(simdisk.Latency{Write: time.Millisecond, Sync: 9 * time.Millisecond})
		start := time.Now()
		for i := range uint64(1000) {
			check(t, l.StoreLogs(entries(1, i, i)))
		}
		if took := time.Since(start); took < 8*time.Second || took > 14*time.Second {
			t.Errorf("1000 writes of about 10 ms took %v", took)
		}
		disk.SetLatency(simdisk.Latency{})
		disk.Stall(5 * time.Second)
		disk.Stall(time.Second) // does not shorten the first
		start = time.Now()
		_, err := l.LastIndex()
		check(t, err)
		if took := time.Since(start); took != 5*time.Second {
			t.Errorf("a stall of 5 s took %v", took)
		}
		disk.Stall(time.Hour)
		time.AfterFunc(3*time.Second, disk.Heal)
		start = time.Now()
		check(t, l.StoreLog(entries(1, 1, 1)[0]))
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("a stall healed after 3 s took %v", took)
		}
	})
}

func TestFaults(t *testing.T) {
	disk := simdisk.New(1)
	h := disk.Open()
	check(t, h.Logs().StoreLogs(entries(1, 1, 2)))

	disk.Fail(syscall.ENOSPC, 2, simdisk.WriteLog)
	for range 2 {
		if err := h.Logs().StoreLogs(entries(1, 3, 3)); !errors.Is(err, syscall.ENOSPC) || !strings.Contains(err.Error(), "write log") {
			t.Errorf("a full disk gave %v", err)
		}
	}
	wantRange(t, h.Logs(), 1, 2)
	check(t, h.Stable().Set([]byte("k"), nil)) // other operations go on
	check(t, h.Logs().StoreLogs(entries(1, 3, 3)))

	disk.Fail(syscall.EIO, 0)
	for range 5 {
		for i, err := range []error{
			second(h.Logs().FirstIndex()), h.Logs().StoreLogs(nil), second(h.Stable().Get([]byte("k"))), h.Stable().Set([]byte("k"), nil),
			second(h.Snapshots().List()), second(h.Snapshots().Create(1, 1, 1, raft.Configuration{}, 0, nil)),
			second(h.Files().Read("f")), h.Files().Write("f", nil), h.Files().Create("f", nil),
		} {
			if !errors.Is(err, syscall.EIO) {
				t.Errorf("call %d on a broken disk gave %v", i, err)
			}
		}
	}
	if _, err := disk.Clone().Open().Logs().LastIndex(); !errors.Is(err, syscall.EIO) {
		t.Errorf("the disk healed by being cloned: %v", err)
	}
	disk.Heal()
	wantRange(t, h.Logs(), 1, 3)
}

// TestFailedSync: the next one succeeds, and the data is gone all the same.
func TestFailedSync(t *testing.T) {
	disk := simdisk.New(1)
	l := disk.Open().Logs()
	check(t, l.StoreLogs(entries(1, 1, 1)))
	disk.Fail(syscall.EIO, 1, simdisk.SyncLog)
	if err := l.StoreLogs(entries(1, 2, 2)); !errors.Is(err, syscall.EIO) {
		t.Fatalf("the failed sync gave %v", err)
	}
	check(t, l.StoreLogs(entries(1, 3, 3)))
	wantRange(t, l, 1, 3)
	wantEntry(t, l, 2, 1)
	after := disk.PowerCut(rand.New(rand.NewPCG(1, 1))).Open().Logs()
	wantEntry(t, after, 2, 0)
	wantEntry(t, after, 3, 1)
}

// TestLostSyncs: a disk that lies loses a tail of what it acknowledged, at most
// 64 writes, and only by a power cut.
func TestLostSyncs(t *testing.T) {
	disk := simdisk.New(1)
	l := disk.Open().Logs()
	disk.LoseSyncs(true)
	for i := range uint64(200) {
		check(t, l.StoreLogs(entries(1, i+1, i+1)))
	}
	if got := last(t, disk.Clone()); got != 200 {
		t.Errorf("a kill left %d entries of 200", got)
	}
	seen := map[uint64]bool{}
	for i := range uint64(200) {
		n := last(t, disk.PowerCut(rand.New(rand.NewPCG(i, 7))))
		if n < 200-64 || n > 200 {
			t.Fatalf("a power cut left %d entries of 200", n)
		}
		seen[n] = true
	}
	if len(seen) < 30 {
		t.Errorf("200 power cuts had only %d different ends", len(seen))
	}
	disk.LoseSyncs(false)
	check(t, disk.Open().Logs().StoreLogs(entries(1, 201, 201)))
	if got := last(t, disk.PowerCut(rand.New(rand.NewPCG(1, 7)))); got != 201 {
		t.Errorf("after an honest sync %d entries are left of 201", got)
	}
}

func TestSnapshotFaults(t *testing.T) {
	disk := simdisk.New(1)
	if disk.CorruptSnapshot() {
		t.Error("an empty disk had a snapshot to damage")
	}
	h := disk.Open()
	s := h.Snapshots()
	check(t, begin(t, s, 1, 1, "one").Close())
	failing := begin(t, s, 1, 2, "two")
	disk.Fail(syscall.ENOSPC, 1, simdisk.WriteSnapshot)
	if _, err := failing.Write([]byte("more")); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a write on a full disk gave %v", err)
	}
	check(t, failing.Cancel())
	failing = begin(t, s, 1, 3, "three")
	disk.Fail(syscall.EIO, 1, simdisk.SyncSnapshot)
	if err := failing.Close(); !errors.Is(err, syscall.EIO) {
		t.Errorf("a failed sync gave %v", err)
	}
	unfinished := begin(t, s, 1, 4, "four")
	h.Kill()
	check(t, unfinished.Close())
	h = disk.Open()
	if got := listed(t, h.Snapshots()); got != "1-1 " {
		t.Errorf("snapshots %q, want only the first", got)
	}

	check(t, begin(t, h.Snapshots(), 1, 5, "five").Close())
	if !disk.CorruptSnapshot() {
		t.Fatal("there was nothing to damage")
	}
	for _, d := range []*simdisk.Disk{disk.Clone(), disk.PowerCut(rand.New(rand.NewPCG(1, 1))), disk} {
		s := d.Open().Snapshots()
		list, err := s.List()
		check(t, err)
		if _, _, err := s.Open(list[0].ID); err == nil || err.Error() != "CRC mismatch" {
			t.Errorf("the damaged snapshot opened with %v", err)
		}
		_, body, err := s.Open(list[1].ID)
		check(t, err)
		check(t, body.Close())
	}
}

func TestFiles(t *testing.T) {
	disk := simdisk.New(1)
	f := disk.Open().Files()
	if _, err := f.Read("a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file gave %v", err)
	}
	check(t, f.Create("attempts/2", []byte("two")))
	check(t, f.Create("attempts/1", []byte("one")))
	if err := f.Create("attempts/1", nil); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a second create gave %v", err)
	}
	check(t, f.Append("journal", []byte("a\n")))
	check(t, f.Append("journal", []byte("b\n")))
	check(t, f.Write("other", nil))
	check(t, f.Remove("other"))
	check(t, f.Remove("other"))
	names, err := f.List("attempts/")
	check(t, err)
	all, err := f.List("")
	check(t, err)
	b, err := f.Read("journal")
	check(t, err)
	if fmt.Sprint(names, all) != "[attempts/1 attempts/2] [attempts/1 attempts/2 journal]" || string(b) != "a\nb\n" {
		t.Errorf("files %v, %v, journal %q", names, all, b)
	}
	b[0] = 'X'
	if again, err := disk.PowerCut(rand.New(rand.NewPCG(1, 1))).Open().Files().Read("journal"); err != nil || string(again) != "a\nb\n" {
		t.Errorf("after a power cut the journal is %q, %v", again, err)
	}
	if one, err := f.Read("attempts/1"); err != nil || string(one) != "one" {
		t.Errorf("the refused create changed the file: %q, %v", one, err)
	}
}

func TestOpNames(t *testing.T) {
	if s := fmt.Sprint(simdisk.ReadLog, simdisk.SyncFile, simdisk.Op(99)); s != "read log sync file operation 99" {
		t.Error(s)
	}
}
