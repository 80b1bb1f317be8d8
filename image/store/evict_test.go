package store

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/berth-gpu/berth/image/lock"
)

// filled returns a store with images a, b and c, which were used in this order, long ago.
func filled(t *testing.T) (s *Store, keys []string) {
	t.Helper()
	s = opened(t)
	for i, letter := range []string{"c", "a", "b"} { // the order of names is another
		key := sha256Key + strings.Repeat(letter, 64)
		put(t, s, key, letter+":v1", time.Now().Add(time.Duration(i-100)*time.Hour))
		keys = append(keys, key)
	}
	return s, keys
}

// put makes an image with a read-only folder.
func put(t *testing.T, s *Store, key, text string, used time.Time) {
	t.Helper()
	record := `{"name":"` + text + `","digest":"` + strings.Replace(key, "-", ":", 1) + `","bytes":5}`
	at := filepath.Join(s.folder, key)
	if err := errors.Join(
		os.MkdirAll(filepath.Join(at, rootName, "ro"), 0o700), os.WriteFile(filepath.Join(at, rootName, "ro", "f"), nil, 0o400),
		os.Chmod(filepath.Join(at, rootName, "ro"), 0o500),
		os.WriteFile(filepath.Join(at, configName), []byte(record), 0o600), os.WriteFile(filepath.Join(at, lockName), nil, 0o600),
		os.Chtimes(filepath.Join(at, lockName), used, used),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Chmod(filepath.Join(at, rootName, "ro"), 0o700) })
}

func there(t *testing.T, s *Store) []string {
	t.Helper()
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, e := range all {
		out = append(out, e.Key)
	}
	return out
}

// Each image that is removed frees a part; no more are removed than necessary, and none that is in use.
func TestMakeRoom(t *testing.T) {
	t.Parallel()
	for what, test := range map[string]struct {
		free, need int64 // of 1000
		use        int   // which image is in use; -1: none
		left       []int
		full       bool
	}{
		"enough":               {200, 150, -1, []int{0, 1, 2}, false},
		"a tenth":              {100, 0, -1, []int{0, 1, 2}, false},
		"less than a tenth":    {99, 0, -1, []int{1, 2}, false},
		"one for the pull":     {200, 300, -1, []int{1, 2}, false},
		"two for the pull":     {200, 301, -1, []int{2}, false},
		"not the one in use":   {200, 300, 0, []int{0, 2}, false},
		"none is left to take": {0, 201, 2, []int{2}, true},
		"little but enough":    {0, 10, 1, []int{1, 2}, false},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, keys := filled(t)
			s.space = func(string) (free, total int64, err error) {
				return test.free + 100*int64(3-len(there(t, s))), 1000, nil
			}
			if test.use >= 0 {
				held, err := lock.Hold(filepath.Join(s.folder, keys[test.use], lockName))
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = held.Close() }()
				old := time.Now().Add(-200 * time.Hour) // even if it was used longest ago
				if err := os.Chtimes(held.Name(), old, old); err != nil {
					t.Fatal(err)
				}
			}
			err := s.makeRoom(test.need)
			if full := err != nil; full != test.full ||
				full && (judge(err).kind != Full || !strings.Contains(err.Error(), "200 B") || !strings.Contains(err.Error(), "201 B")) {
				t.Error(err)
			}
			var want []string
			for _, i := range test.left {
				want = append(want, keys[i])
			}
			got := there(t, s)
			slices.Sort(got)
			slices.Sort(want)
			if !slices.Equal(got, want) || len(left(t, s)) > 0 {
				t.Errorf("%q, want %q; left %q", got, want, left(t, s))
			}
		})
	}
}

// evictAll removes all images that may be removed.
func evictAll(s *Store) (removed []string, err error) {
	return evict(s.root, func() (bool, error) { return false, nil })
}

// An image that was fetched just now stays, as its user is about to lock it.
func TestGrace(t *testing.T) {
	t.Parallel()
	s, keys := filled(t)
	held, err := lock.Hold(filepath.Join(s.folder, keys[0], lockName))
	if err != nil {
		t.Fatal(err)
	}
	_ = held.Close()
	removed, err := evictAll(s)
	if err != nil || !slices.Equal(removed, keys[1:]) || !slices.Equal(there(t, s), keys[:1]) {
		t.Errorf("%q, %v; %q are there", removed, err, there(t, s))
	}
}

// What a user puts into the folder leads an eviction, which may have the rights of root, to nothing outside.
func TestEvictStaysInside(t *testing.T) {
	t.Parallel()
	s, keys := filled(t)
	outside := t.TempDir()
	old := time.Unix(1e9, 0)
	if err := errors.Join(
		os.WriteFile(filepath.Join(outside, lockName), nil, 0o600), os.Chtimes(filepath.Join(outside, lockName), old, old),
		os.WriteFile(filepath.Join(outside, "keep"), nil, 0o600),
		os.Symlink(outside, filepath.Join(s.folder, fileKey+strings.Repeat("0", 64))),
		os.Symlink(outside, filepath.Join(s.folder, goneFolder, "x")),
		os.Symlink(outside, filepath.Join(s.folder, keys[0], rootName, "ln")),
		os.Mkdir(filepath.Join(s.folder, "other"), 0o700),
	); err != nil {
		t.Fatal(err)
	}
	_, err := evictAll(s)
	if names := tree(t, outside); len(names) != 2 {
		t.Errorf("outside: %q, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(s.folder, "other")); err != nil {
		t.Error(err)
	}
}

// A pull removes images that are not used when the disk is full, and ends before the first byte if that does not suffice.
func TestPullMakesRoom(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, keys := filled(t)
		old := time.Now().Add(-time.Hour) // in virtual time
		for _, key := range keys {
			if err := os.Chtimes(filepath.Join(s.folder, key, lockName), old, old); err != nil {
				t.Fatal(err)
			}
		}
		shelf := newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", simple(t))
		s.space = func(string) (free, total int64, err error) { return 100, 1000, nil }
		shelf.reset(nil)
		_, err := s.Fetch(t.Context(), n, nil)
		if kindOf(err) != Full || !Later(err) || !strings.Contains(err.Error(), "100 B free") || shelf.asked("/blobs/") != 1 || len(there(t, s)) > 0 {
			t.Errorf("%v; %q; %q", err, shelf.asks, there(t, s))
		}
	})
}

func TestRemove(t *testing.T) {
	t.Parallel()
	s, keys := filled(t)
	held, err := lock.Hold(filepath.Join(s.folder, keys[0], lockName))
	if err != nil {
		t.Fatal(err)
	}
	if all, err := s.List(); err != nil || len(all) != 3 || all[0].InUse || !all[2].InUse || all[2].Key != keys[0] || all[2].Bytes != 5 {
		t.Errorf("%+v, %v", all, err)
	}
	if gone, err := s.Remove("c:v1"); err == nil || len(gone) > 0 || !strings.Contains(err.Error(), "uses the image") {
		t.Error(gone, err)
	}
	_ = held.Close()
	if gone, err := s.Remove("sha256-"); kindOf(err) != NotFound {
		t.Error(gone, err)
	}
	for _, text := range []string{"docker.io/library/c:v1", "sha256:" + strings.Repeat("a", 64), keys[2][:ShortKey]} {
		if gone, err := s.Remove(text); err != nil || len(gone) != 1 {
			t.Errorf("%s: %+v, %v", text, gone, err)
		}
		if gone, err := s.Remove(text); kindOf(err) != NotFound || len(gone) != 0 {
			t.Errorf("%s: %+v, %v", text, gone, err)
		}
	}
}

// The stores of all users of a node give way, and links that lead out of the folder are not followed.
func TestEvictUsers(t *testing.T) {
	t.Parallel()
	s, keys := filled(t)
	users, outside := t.TempDir(), t.TempDir()
	o, kept := filled(t)
	if err := errors.Join(
		os.Mkdir(filepath.Join(users, "1"), 0o700), os.Rename(s.folder, filepath.Join(users, "1", UserFolder)),
		os.Rename(o.folder, filepath.Join(outside, "x")), os.Mkdir(filepath.Join(users, "2"), 0o700),
		os.Symlink(filepath.Join(outside, "x"), filepath.Join(users, "2", UserFolder)), os.Symlink(outside, filepath.Join(users, "3")),
		os.WriteFile(filepath.Join(users, "4"), nil, 0o600),
	); err != nil {
		t.Fatal(err)
	}
	removed, err := EvictUsers(users, 1.1)
	if slices.Sort(removed); err != nil || !slices.Equal(removed, slices.Sorted(slices.Values(keys))) {
		t.Errorf("removed are %q, %v; should be %q", removed, err, keys)
	}
	for _, key := range kept {
		if _, err := os.Stat(filepath.Join(outside, "x", key)); err != nil {
			t.Errorf("an image outside: %v", err)
		}
	}
	if removed, err := EvictUsers(filepath.Join(users, "none"), 1); removed != nil || err != nil {
		t.Error(removed, err)
	}
}

// Whatever a user puts into the folder for images goes when the disk is full, and before images of others: files, what looks like an image,
// what looks like a pull, and containers with names if the user takes more than half of the disk.
func TestEvictWhatIsNoImage(t *testing.T) {
	t.Parallel()
	s, keys := filled(t)
	users := t.TempDir()
	mine, fill := filepath.Join(users, "1"), filepath.Join(users, "2")
	fake := filepath.Join(fill, UserFolder, keys[0])
	late := time.Now().Add(24 * time.Hour)
	for _, path := range []string{
		filepath.Join(fill, "fill"), filepath.Join(fill, "folder", "fill"), filepath.Join(fill, UserFolder, "fill"), filepath.Join(fake, lockName),
		filepath.Join(fake, "fill"), filepath.Join(fill, UserFolder, pullFolder, "x", "fill"), filepath.Join(fill, UserFolder, pullFolder, keys[1]+"-x", "fill"),
		filepath.Join(fill, NamesFolder, "c", "fill"),
	} {
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, make([]byte, 1<<20), 0o600),
			os.Chtimes(path, late, late)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Mkdir(mine, 0o700), os.Rename(s.folder, filepath.Join(mine, UserFolder))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(users)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	if list, err := heaviest(root); err != nil || len(list) != 2 || list[0].name != "2" || list[0].bytes < 8<<20 {
		t.Errorf("the users are %+v, %v", list, err)
	}
	user, err := root.OpenRoot("2")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = user.Close() }()
	never := func() (bool, error) { return false, nil }
	for _, much := range []bool{false, true} {
		if _, err := evictUser(user, much, never); err != nil {
			t.Fatal(err)
		}
		if at := takes(root, "2"); (at >= 1<<20) == much || at >= 2<<20 {
			t.Errorf("of 8 MiB %d bytes are left; containers with names go: %v", at, much)
		}
	}
	if at := takes(root, "2"); at > 1<<16 {
		t.Errorf("%d bytes are left", at)
	}
	if _, err := os.Stat(filepath.Join(mine, UserFolder, keys[0])); err != nil {
		t.Errorf("an image of another user: %v", err)
	}
}
