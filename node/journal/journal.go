package journal

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
)

// How much of the ended ranks is kept.
const (
	keepFor   = 7 * 24 * time.Hour
	keepMost  = 10_000
	keepLeast = 100 // however old they seem: the clock may have jumped
)

const (
	attemptsDir = "attempts"
	endedDir    = "ended"
	lineageFile = "lineage"
	newPrefix   = ".new-"
)

// Journal is an agent's data folder, in use by this process. Its methods may be
// called from any goroutine.
type Journal struct {
	dir     string
	lock    *folderLock
	lineage string

	restored string
	closed   string

	mu    sync.Mutex
	names map[model.RankKey][]string // all folders of a rank, in both places
	ended []string                   // names in ended/, oldest first

	weights weights // of those
}

// Options are what a journal uses in addition to its files.
type Options struct {
	// Lineage returns the lineage that living supervisors of the data folder at that path carry, or "". It is
	// called when the file is lost; nil: there are no supervisors.
	Lineage func(dir string) string
}

// Open opens the data folder, and makes it if it is missing. Its errors are one line for the operator.
func Open(dir string) (*Journal, error) { return OpenWith(dir, Options{}) }

// OpenWith is Open with options.
func OpenWith(dir string, o Options) (*Journal, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	var closed []string
	for _, d := range []string{dir, filepath.Join(dir, attemptsDir), filepath.Join(dir, endedDir)} {
		was, err := private.Folder(d)
		if err != nil {
			return nil, unusable(dir, err)
		}
		if was != 0 {
			closed = append(closed, fmt.Sprintf("%s (%s)", d, was))
		}
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	j := &Journal{dir: dir, lock: lock, closed: strings.Join(closed, ", "), names: map[model.RankKey][]string{}}
	if err := j.load(o); err != nil {
		if !smallfile.IsDamaged(err) {
			err = unusable(dir, err)
		}
		return nil, errors.Join(err, lock.Close())
	}
	return j, nil
}

// Restored returns which of the folder's files were lost or damaged and are made again, for the log; empty:
// none.
func (j *Journal) Restored() string { return j.restored }

// Closed returns which folders other users could enter before, with their modes, for the log; empty: none.
func (j *Journal) Closed() string { return j.closed }

// Close unlocks the data folder.
func (j *Journal) Close() error { return j.lock.Close() }

// Dir returns the folder.
func (j *Journal) Dir() string { return j.dir }

// Lineage returns 128 random bits in hexadecimal, made with the folder.
func (j *Journal) Lineage() string { return j.lineage }

func unusable(dir string, err error) error {
	return fmt.Errorf("%s: the data folder cannot be used: %w; check that it is on a healthy local disk, "+
		"mounted writable and owned by the user that runs berth", dir, err)
}

func (j *Journal) load(o Options) error {
	if err := j.loadLineage(o); err != nil {
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

// loadLineage reads the lineage, which is stored twice. If both files are lost, living supervisors may still
// carry the lineage: with another one their ranks would be given up.
func (j *Journal) loadLineage(o Options) error {
	path := filepath.Join(j.dir, lineageFile)
	restored, err := smallfile.ReadTwin(path, &j.lineage)
	if err == nil && !model.Name(j.lineage) {
		err = &smallfile.DamagedError{Path: path, Why: "its value is no lineage"}
	}
	if err == nil {
		j.restored = restored
		return nil
	}
	damaged := smallfile.IsDamaged(err)
	if !damaged && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	j.lineage = ""
	if o.Lineage != nil {
		j.lineage = o.Lineage(j.dir)
	}
	switch {
	case j.lineage != "":
		j.restored = fmt.Sprintf("%s was lost (%v) and is restored from supervisors that live", path, err)
	case damaged:
		return fmt.Errorf("%w, and so is its copy; this is the same machine, but the memory of what the node ran cannot be "+
			"trusted: remove %[2]s and %[2]s.copy and start the agent again; ranks whose records are intact are taken over, "+
			"and the cluster gives up the others once their lease is over", err, path)
	default:
		j.lineage = Random()
	}
	return smallfile.WriteTwin(path, j.lineage)
}

// Random returns 128 random bits in hexadecimal.
func Random() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// Put stores a small value for the agents of this boot.
func (j *Journal) Put(name string, v any) error {
	return j.Insist(func() error { return smallfile.Replace(filepath.Join(j.dir, name), v) })
}

// Insist writes something that must be written: on a full disk it tries again in the space of the ballast.
func (j *Journal) Insist(write func() error) error {
	err := write()
	if disk.Fault(err) && disk.Release(j.dir) {
		err = write()
	}
	return err
}

// Get reads a value stored by Put. The error is fs.ErrNotExist for a missing value, and a
// smallfile.DamagedError for a damaged one.
func (j *Journal) Get(name string, v any) error {
	return smallfile.Read(filepath.Join(j.dir, name), v)
}

// Name returns the name of a rank's folder, like "8f3a01c2-17-0-1-r0".
func Name(i model.Incarnation, r model.RankKey) string {
	return fmt.Sprintf("%x-%d-%d-%d-r%d", i[:4], r.Job, r.Task, r.N, r.Rank)
}

// RankOf returns the rank and the first bytes of the incarnation in a folder's name; false: the name is not
// that of a rank's folder.
func RankOf(name string) (r model.RankKey, i model.Incarnation, ok bool) {
	head, _, _ := strings.Cut(name, "-")
	b, err := hex.DecodeString(head)
	copy(i[:], b)
	r, ok = rankOf(name)
	return r, i, ok && err == nil && len(b) == 4
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
