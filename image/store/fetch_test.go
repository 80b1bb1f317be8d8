package store

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/berth-gpu/berth/image/lock"
)

// An image is pulled once, and is there from then on without its registry.
func TestFetch(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		img := image(t, tarred(t, file{name: "bin/", mode: 0o755}, file{name: "bin/sh", text: "one"}),
			tarred(t, file{name: "bin/sh", text: "two"}, file{name: "x", text: "y", mode: 0o640}))
		n := shelf.put(t, "v1", img)
		digest, err := img.Digest()
		if err != nil {
			t.Fatal(err)
		}
		pinned, err := s.Resolve(t.Context(), n)
		if err != nil || pinned.Digest != digest.String() || pinned.Tag != "v1" {
			t.Fatal(pinned, err)
		}
		var last Progress
		got, err := s.Fetch(t.Context(), pinned, func(p Progress) { last = p })
		if err != nil {
			t.Fatal(err)
		}
		want := Config{Env: []string{"PATH=/bin", "A=b c"}, Workdir: "/w", Entrypoint: []string{"/e"}, Cmd: []string{"x", "y"}}
		if got.Digest != digest.String() || !reflect.DeepEqual(got.Config, want) || last.Phase != Pulling || last.Total == 0 {
			t.Errorf("%+v, %+v", got, last)
		}
		if files := tree(t, got.Root); !slices.Equal(files, []string{"d755 bin", "-755 bin/sh=two", "-640 x=y"}) {
			t.Errorf("%q", files)
		}
		shelf.reset(nil)
		again, err := s.Fetch(t.Context(), pinned, nil)
		if err != nil || !reflect.DeepEqual(again, got) || shelf.asked("") > 0 {
			t.Errorf("%+v, %v, %q", again, err, shelf.asks)
		}
		if r, err := s.Resolve(t.Context(), pinned); err != nil || r != pinned || shelf.asked("") > 0 {
			t.Errorf("%+v, %v, %q", r, err, shelf.asks)
		}
		if again, err = s.Fetch(t.Context(), n, nil); err != nil || again.Root != got.Root || shelf.asked("GET /v2/team/image/blobs") != 1 { // the configuration
			t.Errorf("%+v, %v, %q", again, err, shelf.asks)
		}
		if rest := left(t, s); len(rest) > 0 {
			t.Errorf("%q was left", rest)
		}
		held, err := lock.Hold(got.Lock)
		if err != nil {
			t.Fatal(err)
		}
		_ = held.Close()
	})
}

// The manifest of this machine's platform is chosen, also by the digest of an index.
func TestPlatform(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		other := configured(t, simple(t), "s390x")
		own := image(t, tarred(t, file{name: "own", text: "x"}))
		newer := image(t, tarred(t, file{name: "newer", text: "x"}))
		index := func(entries ...mutate.IndexAddendum) v1.ImageIndex {
			return mutate.AppendManifests(mutate.IndexMediaType(empty.Index, types.OCIImageIndex), entries...)
		}
		entry := func(img v1.Image, os, arch, variant string) mutate.IndexAddendum {
			return mutate.IndexAddendum{Add: img, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: os, Architecture: arch, Variant: variant}}}
		}
		n := shelf.put(t, "many", index(entry(other, "linux", "s390x", ""), entry(newer, "linux", runtime.GOARCH, "v3"), entry(own, "linux", runtime.GOARCH, ""), entry(simple(t), "unknown", "unknown", "")))
		whole, err := index(entry(other, "linux", "s390x", ""), entry(own, "linux", runtime.GOARCH, "")).Digest()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := own.Digest()
		if p, err := s.Resolve(t.Context(), n); err != nil || p.Digest != want.String() {
			t.Errorf("%v is %v, %v", n, p, err)
		}
		n = shelf.put(t, "two", index(entry(other, "linux", "s390x", ""), entry(own, "linux", runtime.GOARCH, "")))
		if got, err := s.Fetch(t.Context(), n.WithDigest(whole.String()), nil); err != nil || got.Digest != want.String() {
			t.Errorf("%+v, %v", got, err)
		}
		for tag, what := range map[string]any{
			"foreign": index(entry(other, "linux", "s390x", ""), entry(own, "windows", runtime.GOARCH, "")),
			"single":  other,
		} {
			_, err := s.Fetch(t.Context(), shelf.put(t, tag, what), nil)
			if kindOf(err) != Platform || Later(err) || !strings.Contains(err.Error(), "linux/s390x") {
				t.Errorf("%s: %v", tag, err)
			}
		}
	})
}

// Two fetches of one image at once pull it once.
func TestOnePull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", image(t, tarred(t, file{name: "a"}), tarred(t, file{name: "b"}), tarred(t, file{name: "c"})))
		pinned, err := s.Resolve(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Open(s.folder) // as another process
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = second.Close() }()
		second.space, second.transport, second.credentials = s.space, s.transport, s.credentials
		waits := make(chan struct{})
		shelf.reset(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") {
				select { // until the other waits, but for the configurations, which both read
				case <-waits:
				case <-time.After(time.Second):
				}
			}
			return false
		})
		var once sync.Once
		var all sync.WaitGroup
		saw := make([]int, 2)
		for i, one := range []*Store{s, second} {
			all.Go(func() {
				_, err := one.Fetch(t.Context(), pinned, func(p Progress) {
					if p.Phase == Waiting {
						saw[i]++
						once.Do(func() { close(waits) })
					}
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := shelf.asked("/blobs/"); n != 3+2 {
			t.Errorf("%d requests: %q", n, shelf.asks)
		}
		if (saw[0] == 0) == (saw[1] == 0) {
			t.Errorf("%v: exactly one waits", saw)
		}
		if rest := left(t, s); len(rest) > 0 {
			t.Errorf("%q was left", rest)
		}
	})
}

// A pull that is ended in the middle leaves nothing that is taken for an image, and what it leaves is removed.
func TestCanceled(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", image(t, tarred(t, file{name: "a"}), tarred(t, file{name: "b"})))
		ctx, cancel := context.WithCancel(t.Context())
		var blobs atomic.Int32
		shelf.reset(func(w http.ResponseWriter, r *http.Request) bool {
			if strings.Contains(r.URL.Path, "/blobs/") {
				if blobs.Add(1) == 3 { // the configuration and one layer have been asked for
					cancel()
					<-r.Context().Done()
				}
			}
			return false
		})
		if _, err := s.Fetch(ctx, n, nil); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		if all, err := s.List(); len(all) > 0 || err != nil {
			t.Fatal(all, err)
		}
		if rest := left(t, s); len(rest) > 0 {
			t.Errorf("%q was left", rest)
		}
		shelf.reset(nil)
		if _, err := s.Fetch(t.Context(), n, nil); err != nil {
			t.Fatal(err)
		}
	})
}

// What pulls have left that were killed is removed by the next one, but for what another process is pulling.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", simple(t))
		pinned, err := s.Resolve(t.Context(), n)
		if err != nil {
			t.Fatal(err)
		}
		dead, living := sha256Key+strings.Repeat("d", 64), fileKey+strings.Repeat("1", 64)
		for _, folder := range []string{
			pullFolder + "/" + keyOf(pinned.Digest) + "-A/root", pullFolder + "/" + dead + "-B/root", pullFolder + "/" + living + "-C/root",
			goneFolder + "/x/root",
		} {
			if err := s.root.MkdirAll(folder, 0o700); err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(s.root.WriteFile(folder+"/half", nil, 0o400), s.root.Chmod(folder, 0o500)); err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.root.Chmod(folder, 0o700) }() // so that the test's folder can be removed
		}
		if err := s.root.WriteFile(pullFolder+"/"+dead+".lock", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		held, err := lock.Wait(t.Context(), s.root, pullFolder+"/"+living+".lock", func() {})
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = held.Close() }()
		got, err := s.Fetch(t.Context(), n, nil)
		if err != nil || !slices.Equal(tree(t, got.Root), []string{"-755 hello=world"}) {
			t.Errorf("%+v, %v", got, err)
		}
		if rest := left(t, s); !slices.Equal(rest, []string{living + "-C", living + ".lock"}) {
			t.Errorf("%q was left", rest)
		}
	})
}

// A folder with the name of an image but without its files is replaced.
func TestIncomplete(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		n := shelf.put(t, "v1", simple(t))
		for _, lost := range []string{rootName, configName, lockName} {
			got, err := s.Fetch(t.Context(), n, nil)
			if err != nil {
				t.Fatal(err)
			}
			at := filepath.Dir(got.Lock)
			if err := os.RemoveAll(filepath.Join(at, lost)); err != nil {
				t.Fatal(err)
			}
			if got, err = s.Fetch(t.Context(), n, nil); err != nil || len(tree(t, got.Root)) != 1 {
				t.Errorf("without %s: %+v, %v", lost, got, err)
			}
		}
	})
}

func TestManyLayers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, shelf := opened(t), newShelf()
		s.transport = inMemory{shelf}
		var layers [][]byte
		for i := range 200 {
			layers = append(layers, tarred(t, file{name: "same", text: fmt.Sprint(i)}, file{name: fmt.Sprintf("of/%03d", i)}))
		}
		got, err := s.Fetch(t.Context(), shelf.put(t, "v1", image(t, layers...)), nil)
		if err != nil {
			t.Fatal(err)
		}
		files := tree(t, got.Root)
		if len(files) != 202 || files[201] != "-755 same=199" {
			t.Errorf("%d files: %q", len(files), files)
		}
	})
}

func TestOpen(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	s, err := Open(filepath.Join(base, "a", "b"))
	if err != nil {
		t.Fatal(err)
	}
	_ = s.Close()
	if info, err := os.Stat(s.folder); err != nil || info.Mode().Perm() != 0o700 {
		t.Error(info.Mode(), err)
	}
	if err := os.Symlink(s.folder, filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(base, "link")); err == nil || !strings.Contains(err.Error(), "is a link") {
		t.Error(err)
	}
}

func TestOpenOfAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("needs root, to make a folder of another user")
	}
	folder := t.TempDir()
	if err := os.Chown(folder, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(folder); err == nil || !strings.Contains(err.Error(), "belongs to user id 12345") {
		t.Error(err)
	}
}
