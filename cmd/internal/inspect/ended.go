package inspect

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/berth-gpu/berth/files/smallfile"
)

// Ended is how a peer ended by itself the last time. The unit does not start a peer again that was removed, and by the time that an
// operator looks, the journal may be gone.
type Ended struct {
	At   time.Time `cbor:"1,keyasint"`
	Code int       `cbor:"2,keyasint"` // exit code
	Why  string    `cbor:"3,keyasint"`
}

// endedFile is the file for it in the data folder.
const endedFile = "ended"

// NoteEnd stores how a peer ends. A folder that is not there or cannot be written has no such file.
func NoteEnd(data string, e *Ended) error { return smallfile.Write(filepath.Join(data, endedFile), e) }

// ForgetEnd removes that: the peer takes part again.
func ForgetEnd(data string) error {
	err := os.Remove(filepath.Join(data, endedFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// LastEnd returns how the peer of a data folder ended by itself the last time; nil: that is not known.
func LastEnd(data string) *Ended {
	e := &Ended{}
	if smallfile.Read(filepath.Join(data, endedFile), e) != nil {
		return nil
	}
	return e
}
