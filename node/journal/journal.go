package journal

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/fsm/model"
)

// How much of what has ended is kept.
const (
	keepFor   = 7 * 24 * time.Hour
	keepMost  = 10_000
	keepLeast = 100 // however old they seem: the clock may have jumped
)

const (
	attemptsDir = "attempts"
	endedDir    = "ended"
	newPrefix   = ".new-"
)

// Journal is an agent's data folder, in use by this process. Its methods may be
// called from any goroutine.
type Journal struct {
	dir     string
	lock    *os.File
	lineage string

	mu    sync.Mutex
	names map[model.RankKey][]string // all folders of a rank, in both places
	ended []string                   // names in ended/, oldest first

	weights weights // of those
}

// Open takes the data folder, making it if there is none. Its errors are one line
// for the operator.
func Open(dir string) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	for _, d := range []string{dir, filepath.Join(dir, attemptsDir), filepath.Join(dir, endedDir)} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			return nil, unusable(dir, err)
		}
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, lock: lock, names: map[model.RankKey][]string{}}
	if err := j.load(); err != nil {
		return nil, errors.Join(unusable(dir, err), lock.Close())
	}
	return j, nil
}

// Close gives the data folder back.
func (j *Journal) Close() error { return j.lock.Close() }

// Dir is the folder.
func (j *Journal) Dir() string { return j.dir }

// Lineage is 128 random bits in hexadecimal, made with the folder.
func (j *Journal) Lineage() string { return j.lineage }

func unusable(dir string, err error) error {
	return fmt.Errorf("%s: the data folder cannot be used: %w; check that it is on a healthy local disk, "+
		"mounted writable and owned by the user who runs berth", dir, err)
}

func (j *Journal) load() error {
	if err := j.loadLineage(); err != nil {
		return err
	}
	names, err := list(filepath.Join(j.dir, attemptsDir))
	if err != nil {
		return err
	}
	for _, name := range names {
		if strings.HasPrefix(name, newPrefix) { // a start that broke off before it had a name
			if err := os.RemoveAll(filepath.Join(j.dir, attemptsDir, name)); err != nil {
				return err
			}
			continue
		}
		j.remember(name)
	}
	if j.ended, err = list(filepath.Join(j.dir, endedDir)); err != nil {
		return err
	}
	sortByAge(filepath.Join(j.dir, endedDir), j.ended)
	for _, name := range j.ended {
		j.remember(name)
	}
	return nil
}

func (j *Journal) loadLineage() error {
	path := filepath.Join(j.dir, "lineage")
	data, err := os.ReadFile(path) //nolint:gosec // the operator's data folder
	if j.lineage = strings.TrimSpace(string(data)); err == nil && model.Name(j.lineage) {
		return nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.lineage = Random()
	return writeDurable(path, []byte(j.lineage+"\n"))
}

// Random is 128 random bits in hexadecimal.
func Random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// writeDurable replaces a file so that it outlasts a power cut.
func writeDurable(path string, data []byte) error {
	f, err := os.OpenFile(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600) //nolint:gosec // the operator's data folder
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncFolder(filepath.Dir(path))
}

func syncFolder(dir string) error {
	d, err := os.Open(dir) //nolint:gosec // the operator's data folder
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Put keeps a small value for the agents of this life of the kernel.
func (j *Journal) Put(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	path := filepath.Join(j.dir, name)
	if err := os.WriteFile(path+".new", data, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// Get reads a value that Put has kept.
func (j *Journal) Get(name string, v any) error {
	data, err := os.ReadFile(filepath.Join(j.dir, name)) //nolint:gosec // the operator's data folder
	if err != nil {
		return err
	}
	return json.Unmarshal(data, v)
}

// Name is that of a rank's folder: "8f3a01c2-17-0-1-r0".
func Name(i model.Incarnation, r model.RankKey) string {
	return fmt.Sprintf("%x-%d-%d-%d-r%d", i[:4], r.Job, r.Task, r.N, r.Rank)
}

// rankOf reads the rank from a folder's name.
func rankOf(name string) (r model.RankKey, ok bool) {
	_, rest, found := strings.Cut(name, "-")
	var again string
	if found {
		_, _ = fmt.Sscanf(rest, "%d-%d-%d-r%d", &r.Job, &r.Task, &r.N, &r.Rank)
		again = fmt.Sprintf("%d-%d-%d-r%d", r.Job, r.Task, r.N, r.Rank)
	}
	return r, found && again == rest
}

func list(dir string) ([]string, error) {
	d, err := os.Open(dir) //nolint:gosec // in the operator's data folder
	if err != nil {
		return nil, err
	}
	names, err := d.Readdirnames(-1)
	return names, errors.Join(err, d.Close())
}

func sortByAge(dir string, names []string) {
	born := make(map[string]time.Time, len(names))
	for _, name := range names {
		if info, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			born[name] = info.ModTime()
		}
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(born[a].Compare(born[b]), cmp.Compare(a, b)) })
}
