package backup

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/trust"
)

func peerOf(id model.PeerID) model.Peer {
	return model.Peer{ID: id, RaftAddress: "127.0.0.1:7000", Level: 1, Folder: "f-" + string(id)}
}

// keeperOf returns a keeper of a source as of the present time.
func keeperOf(s *Source, dir string, keep int) *Keeper {
	return &Keeper{
		Schedule: Schedule{Dir: dir, Every: time.Hour, Keep: keep}, Cluster: s.Cluster, Now: time.Now, Log: slog.New(slog.DiscardHandler),
		Trusted: func() (*trust.Material, error) { return s.Trust, nil },
		Source: func(context.Context) (*Source, error) {
			as := *s
			as.Now = time.Now()
			return &as, nil
		},
	}
}

// Backups are made at the interval, and the oldest go. Peers that share a folder make one each time, not two.
func TestBackupsAreMadeAtIntervals(t *testing.T) {
	t.Parallel()
	s, dir := sourceOf(t), filepath.Join(t.TempDir(), "made")
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		one, two := keeperOf(s, dir, 3), keeperOf(s, dir, 3)
		go one.Run(ctx, time.Second)
		go two.Run(ctx, 2*time.Second)
		files := func() []File {
			t.Helper()
			list, err := List(dir)
			if err != nil {
				t.Fatal(err)
			}
			return list
		}
		time.Sleep(10 * time.Second)
		synctest.Wait()
		if list := files(); len(list) != 1 || !one.Standing().Newest.Equal(two.Standing().Newest) || one.Standing().Failure != "" {
			t.Errorf("after a start: %v, %+v, %+v", list, one.Standing(), two.Standing())
		}
		time.Sleep(2*time.Hour + 5*time.Minute)
		synctest.Wait()
		if list := files(); len(list) != 3 || !list[0].Description.Made.After(list[1].Description.Made) {
			t.Errorf("after two hours: %v", list)
		}
		time.Sleep(5 * time.Hour)
		synctest.Wait()
		list := files()
		if len(list) != 3 || time.Since(list[2].Description.Made) > 3*time.Hour+5*time.Minute {
			t.Errorf("after seven hours: %d, the oldest of %s", len(list), list[2].Description.Made)
		}
		cancel()
		synctest.Wait()
	})
}

// A backup of another cluster in the folder neither counts nor is removed, and what cannot be read is left alone.
func TestOtherFilesAreLeftAlone(t *testing.T) {
	t.Parallel()
	s, dir := sourceOf(t), t.TempDir()
	foreign := keeperOf(sourceOf(t), dir, 1)
	if _, err := foreign.make(t.Context()); err != nil {
		t.Fatal(err)
	}
	junk := filepath.Join(dir, "junk"+Suffix)
	if err := os.WriteFile(junk, []byte("junk"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := keeperOf(s, dir, 1)
	for range 2 {
		s.State.Index++ // so that the files have different names
		if _, err := k.make(t.Context()); err != nil && !strings.Contains(err.Error(), "exists already") {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	if err != nil || len(list) != 3 || list[2].Path != junk || list[2].Err == nil {
		t.Errorf("%v, %v", list, err)
	}
}

// A failure is shown, counted and followed by another try; after a success nothing of it is left.
func TestAFailedBackupIsTriedAgain(t *testing.T) {
	t.Parallel()
	s, dir := sourceOf(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		k := keeperOf(s, dir, 3)
		sound, mended := k.Source, atomic.Bool{}
		k.Source = func(ctx context.Context) (*Source, error) {
			if mended.Load() {
				return sound(ctx)
			}
			return nil, errors.New("no leader")
		}
		go k.Run(ctx, time.Second)
		time.Sleep(retry + time.Minute)
		synctest.Wait()
		if now := k.Standing(); now.Failure != "no leader" || now.Failures != 2 || !now.Newest.IsZero() {
			t.Errorf("%+v", now)
		}
		mended.Store(true)
		time.Sleep(retry)
		synctest.Wait()
		if now := k.Standing(); now.Failure != "" || now.Newest.IsZero() {
			t.Errorf("after a success: %+v", now)
		}
		cancel()
		synctest.Wait()
	})
}

// A backup with a time in the future, as a peer makes whose clock is ahead, stops no schedule; nor does one that is damaged behind
// its head. Neither counts for what is kept.
func TestOnlySoundBackupsOfThePastCount(t *testing.T) {
	t.Parallel()
	s, dir := sourceOf(t), t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		early := keeperOf(s, dir, 2)
		sound := early.Source
		early.Source = func(ctx context.Context) (*Source, error) {
			as, err := sound(ctx)
			if err == nil {
				as.Now = as.Now.Add(240 * time.Hour)
			}
			return as, err
		}
		if _, err := early.make(ctx); err != nil {
			t.Fatal(err)
		}
		k := keeperOf(s, dir, 2)
		go k.Run(ctx, time.Second)
		time.Sleep(time.Minute)
		synctest.Wait()
		now := k.Standing()
		if now.Future != 1 || now.Newest.IsZero() || time.Since(now.Newest) > time.Minute || now.Failure != "" {
			t.Fatalf("next to one of the future: %+v", now)
		}
		list, err := List(dir)
		if err != nil || len(list) != 2 {
			t.Fatalf("%v, %v", list, err)
		}
		damaged := list[1].Path
		text, err := os.ReadFile(damaged)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(damaged, append(text, "more"...), 0o600); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Minute)
		synctest.Wait()
		if now := k.Standing(); time.Since(now.Newest) > 3*time.Minute || now.Newest.Equal(list[1].Description.Made) {
			t.Errorf("after the only one was damaged: %+v", now)
		}
		time.Sleep(3 * time.Hour)
		synctest.Wait()
		if list, err = List(dir); err != nil || len(list) != 3 {
			t.Errorf("two sound ones and one of the future: %v, %v", list, err)
		}
		for _, f := range list {
			if f.Path == damaged {
				t.Error("one that is damaged was kept in place of a sound one")
			}
		}
		cancel()
		synctest.Wait()
	})
}

// A backup that no peer of this cluster has signed does not count, whatever it says of itself: another one is made, and old ones stay.
func TestForgedBackupsDoNotCount(t *testing.T) {
	t.Parallel()
	s := sourceOf(t)
	other := sourceOf(t)
	other.Cluster, other.State = s.Cluster, s.State // made by one who has no key of the cluster
	unsigned := slices.DeleteFunc(piecesOf(t, written(t, s, &Seal{})), func(p piece) bool { return p.name == partSignature })
	for name, file := range map[string][]byte{"of another authority": written(t, other, &Seal{}), "not signed": packed(t, unsigned, true)} {
		dir := t.TempDir()
		k := keeperOf(s, dir, 1)
		path := filepath.Join(dir, FileName(s.Describe(&k.Seal)))
		if err := os.WriteFile(path, file, 0o600); err != nil {
			t.Fatal(err)
		}
		if newest, _, err := k.newest(); err != nil || !newest.IsZero() {
			t.Errorf("%s: it counts as the backup of %v: %v", name, newest, err)
		}
		if err := os.WriteFile(path, written(t, s, &Seal{}), 0o600); err != nil {
			t.Fatal(err)
		}
		if newest, _, err := k.newest(); err != nil || newest.IsZero() {
			t.Errorf("%s: a true one in its place does not count: %v", name, err)
		}
	}
}
