package runner

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/node/disk"
)

// The names of a rank's files.
const (
	recordFile = "rank.json"
	exitFile   = "exit.json"
	latchFile  = "latch"
	beganFile  = "began"     // written with a latch "started", in case the latch is lost
	roomFile   = "exit.room" // becomes exit.json: its block is there before the job starts
	ScriptFile = "script"
	SlurmFile  = "slurm_script" // the script of a job in Slurm's language: scripts look for this name in $0
	StdinFile  = "stdin"
	WorkFolder = "work" // the job's own; nothing of Berth's is in it
	TmpFolder  = "tmp"  // what an isolated job writes to /tmp
	GangFolder = "gang" // what the job's processes on several nodes need to find each other; the job's own
	StdoutFile = "stdout"
	StderrFile = "stderr"
)

// The values of the latch.
const (
	LatchStarted = "started"
	LatchNever   = "never"
)

// exitRoom is the space that is reserved for the end of a rank, in bytes: more than any end takes.
const exitRoom = 4096

// Folder is a rank's folder. It stays the same when it is moved.
type Folder struct {
	path string
	root *os.Root
}

// Content is the initial content of a rank's folder.
type Content struct {
	Script string // empty: none
	Stdin  []byte // the standard input, if the record has one
}

// ScriptName returns the name of the script's file in the rank's folder.
func (r *Record) ScriptName() string {
	if len(r.Job.Spec.Slurm) > 0 {
		return SlurmFile
	}
	return ScriptFile
}

// Fill writes a new folder's first files.
func Fill(dir string, r *Record, c Content) error {
	data, err := smallfile.Encode(r)
	if err != nil {
		return err
	}
	if c.Script != "" {
		if err := os.WriteFile(filepath.Join(dir, r.ScriptName()), []byte(c.Script), 0o700); err != nil { //nolint:gosec // it is to be executed
			return err
		}
	}
	if r.Job.Stdin {
		if err := os.WriteFile(filepath.Join(dir, StdinFile), c.Stdin, 0o600); err != nil {
			return err
		}
	}
	if err := disk.Allocate(filepath.Join(dir, roomFile), exitRoom); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, recordFile), data, 0o600)
}

// Open opens the folder at a path. Anything else there, such as a link to a folder, is an error.
func Open(path string) (*Folder, error) {
	if info, err := os.Lstat(path); err == nil && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	return &Folder{path: path, root: root}, nil
}

// Close closes the folder.
func (f *Folder) Close() error { return f.root.Close() }

// Path returns the path at which the folder was opened.
func (f *Folder) Path() string { return f.path }

// Name returns the last part of the path, which never changes.
func (f *Folder) Name() string { return filepath.Base(f.path) }

// Create makes one of the folder's files, or opens it for appending.
func (f *Folder) Create(name string) (*os.File, error) {
	return f.root.OpenFile(name, os.O_CREATE|os.O_WRONLY, 0o600)
}

// Discard removes one of the folder's folders, whatever a job has put there; the rest goes with the folder.
func (f *Folder) Discard(name string) { _ = f.root.RemoveAll(name) }

// Record reads the record.
func (f *Folder) Record() (*Record, error) {
	r := new(Record)
	return r, f.get(recordFile, r)
}

// InPlace reports whether the folder is still found at the path at which it was opened.
func (f *Folder) InPlace() bool {
	here, err := f.root.Stat(".")
	if err != nil {
		return false
	}
	there, err := os.Lstat(f.path)
	return err == nil && os.SameFile(here, there)
}

// SetRecord replaces the record.
func (f *Folder) SetRecord(r *Record) error { return f.put(recordFile, r) }

// Latch decides for ever whether the rank starts, and returns the decision and whether this call made it:
// only the caller that decided may act on it. The latch is a symbolic link whose target is the word: creating
// it is atomic, and fails if it exists.
func (f *Folder) Latch(want string) (word string, now bool, err error) {
	err = f.root.Symlink(want, latchFile)
	if err == nil && want == LatchStarted {
		_ = f.root.Symlink(want, beganFile) // a second record: the latch alone decides
	}
	if !errors.Is(err, fs.ErrExist) {
		return want, err == nil, err
	}
	word, err = f.root.Readlink(latchFile)
	return word, false, err
}

// Exit reads how the rank ended; fs.ErrNotExist: no end is known.
func (f *Folder) Exit() (model.Exit, error) {
	var e model.Exit
	return e, f.get(exitFile, &e)
}

// SetExit writes how the rank ended. Readers see the end from now on; SyncExit makes it survive a power cut.
//
// The end goes into the space that was reserved when the folder was made, so that a job that has filled the
// disk can still be reported.
func (f *Folder) SetExit(e model.Exit) error {
	data, err := smallfile.Encode(&e)
	if err != nil {
		return err
	}
	room, err := f.root.OpenFile(roomFile, os.O_WRONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return f.put(exitFile, &e) // another end was written before, or a job has put something else there
	}
	_, err = room.WriteAt(data, 0)
	if err := errors.Join(err, room.Truncate(int64(len(data))), room.Close()); err != nil {
		return err
	}
	return f.root.Rename(roomFile, exitFile)
}

// SyncExit makes the end survive a power cut.
func (f *Folder) SyncExit() error {
	return errors.Join(f.sync(exitFile), f.sync("."))
}

func (f *Folder) sync(name string) error {
	file, err := f.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// Phase returns the progress of a rank that has no supervisor. Running means that the rank was started, or
// may have been, and that its end is not known; assigned means that its start broke off. A damaged file never
// makes a rank look less advanced than it was.
func (f *Folder) Phase() (model.RankPhase, model.Exit, error) {
	exit, err := f.Exit()
	if err == nil {
		return model.RankExited, exit, nil
	}
	damaged := smallfile.IsDamaged(err)
	if !errors.Is(err, fs.ErrNotExist) && !damaged {
		return 0, model.Exit{}, err
	}
	switch latch, err := f.root.Readlink(latchFile); {
	case errors.Is(err, fs.ErrNotExist):
		if _, err := f.root.Lstat(beganFile); damaged || err == nil {
			return model.RankRunning, model.Exit{}, nil
		}
		return model.RankAssigned, model.Exit{}, nil
	case err != nil && !errors.Is(err, syscall.EINVAL): // EINVAL: something else is in its place
		return 0, model.Exit{}, err
	case latch == LatchNever:
		return model.RankNever, model.Exit{}, nil
	}
	return model.RankRunning, model.Exit{}, nil
}

// get reads one of the folder's small files.
func (f *Folder) get(name string, v any) error {
	path := filepath.Join(f.path, name)
	file, err := f.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was open to read
	return smallfile.ReadFrom(file, path, v)
}

// put replaces a file as a whole.
func (f *Folder) put(name string, v any) error {
	data, err := smallfile.Encode(v)
	if err != nil {
		return err
	}
	next := name + ".new"
	_ = f.root.Remove(next) // the rest of a write that broke off
	file, err := f.root.OpenFile(next, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(data)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return f.root.Rename(next, name)
}
