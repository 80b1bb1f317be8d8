package soft

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/fsm/model"
)

// MaxTails is how many tails are kept, newest first.
const MaxTails = 2000

// MaxTail bounds each of a tail's two parts, in bytes.
const MaxTail = 64 << 10

// Tail is the end of a rank's output.
type Tail struct{ Stdout, Stderr []byte }

// Tails stores the ends of ranks' output, each in a file of its own. Its methods may be called from any
// goroutine.
type Tails struct {
	dir  string
	most int

	mu    sync.Mutex
	order []model.RankKey // oldest first
}

// Suffixes of the files: of a tail's file, and of one that is being written.
const (
	suffix = ".tail"
	unripe = ".part"
)

// OpenTails stores tails in a folder, which it makes, and finds the existing ones.
func OpenTails(dir string) (*Tails, error) {
	if _, err := private.Folder(dir); err != nil {
		return nil, fmt.Errorf("%s: no folder for the ends of output: %w", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("%s: reading the folder for the ends of output: %w", dir, err)
	}
	t := &Tails{dir: dir, most: MaxTails}
	type found struct {
		key model.RankKey
		age int64
	}
	var all []found
	for _, e := range entries {
		key, ok := keyOf(e.Name())
		info, err := e.Info()
		if !ok || err != nil {
			t.remove(e.Name())
			continue
		}
		all = append(all, found{key, info.ModTime().UnixNano()})
	}
	slices.SortFunc(all, func(a, b found) int { return int(max(-1, min(1, a.age-b.age))) })
	for _, f := range all {
		t.order = append(t.order, f.key)
	}
	t.trim()
	return t, nil
}

// remove deletes a file that should not be there. A failure is retried at the next start.
func (t *Tails) remove(name string) {
	if strings.HasSuffix(name, suffix) || strings.HasSuffix(name, unripe) {
		_ = os.Remove(filepath.Join(t.dir, name))
	}
}

func nameOf(k model.RankKey) string {
	return fmt.Sprintf("%d-%d-%d-%d%s", k.Job, k.Task, k.N, k.Rank, suffix)
}

func keyOf(name string) (k model.RankKey, ok bool) {
	n, err := fmt.Sscanf(name, "%d-%d-%d-%d"+suffix, &k.Job, &k.Task, &k.N, &k.Rank)
	return k, err == nil && n == 4 && nameOf(k) == name
}

// Put stores a tail, in place of a former one of the rank; the oldest is dropped. A long tail loses its
// beginning.
func (t *Tails) Put(k model.RankKey, v Tail) error {
	v.Stdout, v.Stderr = last(v.Stdout), last(v.Stderr)
	data := binary.BigEndian.AppendUint32(nil, uint32(len(v.Stdout)))
	data = append(append(data, v.Stdout...), v.Stderr...)
	t.mu.Lock()
	defer t.mu.Unlock()
	path := filepath.Join(t.dir, nameOf(k))
	err := os.WriteFile(path+unripe, data, 0o600)
	if err == nil {
		err = os.Rename(path+unripe, path)
	}
	if err != nil {
		t.remove(nameOf(k) + unripe)
		return fmt.Errorf("keeping the end of the output of %s: %w", k, err)
	}
	t.order = append(slices.DeleteFunc(t.order, func(o model.RankKey) bool { return o == k }), k)
	t.trim()
	return nil
}

func last(data []byte) []byte { return data[max(0, len(data)-MaxTail):] }

func (t *Tails) trim() {
	for len(t.order) > t.most {
		t.remove(nameOf(t.order[0]))
		t.order = t.order[1:]
	}
}

var errBroken = errors.New("the file is damaged")

// Get returns the tail of a rank. A damaged one is none.
func (t *Tails) Get(k model.RankKey) (Tail, bool) {
	data, err := os.ReadFile(filepath.Join(t.dir, nameOf(k)))
	if err != nil {
		return Tail{}, false
	}
	v, err := parse(data)
	return v, err == nil
}

func parse(data []byte) (Tail, error) {
	if len(data) < 4 {
		return Tail{}, errBroken
	}
	n, rest := binary.BigEndian.Uint32(data), data[4:]
	if uint64(n) > uint64(len(rest)) || len(rest) > 2*MaxTail {
		return Tail{}, errBroken
	}
	return Tail{Stdout: rest[:n], Stderr: rest[n:]}, nil
}
