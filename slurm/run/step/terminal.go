package step

import (
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/berth-gpu/berth/slurm/run/link"
)

// terminal is the terminal of an srun whose first task has one.
type terminal struct {
	before *term.State    // of standard input, while it is in raw mode; nil: it is not
	sizes  chan os.Signal // SIGWINCH
}

// usual is the size of a terminal without a size.
var usual = link.Screen{Rows: 24, Columns: 80}

// screen returns the size of this program's terminal.
func (*terminal) screen() *link.Screen {
	size := usual
	for _, f := range []*os.File{os.Stdin, os.Stdout, os.Stderr} {
		if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
			size = link.Screen{Rows: uint16(min(rows, 1<<16-1)), Columns: uint16(min(columns, 1<<16-1))}
			break
		}
	}
	return &size
}

// enter lets all keys go to the task, and its size follow that of this program's terminal.
func (t *terminal) enter(conn *link.Conn) {
	if state, err := term.MakeRaw(int(os.Stdin.Fd())); err == nil { // else standard input is no terminal
		t.before = state
	}
	sizes := make(chan os.Signal, 1)
	t.sizes = sizes
	signal.Notify(sizes, unix.SIGWINCH)
	go func() {
		for range sizes {
			if conn.SendValue(link.KindResize, t.screen()) != nil {
				return
			}
		}
	}()
}

// leave gives the keys back to this program.
func (t *terminal) leave() {
	if t.sizes != nil {
		signal.Stop(t.sizes)
		close(t.sizes)
		t.sizes = nil
	}
	if t.before != nil {
		_ = term.Restore(int(os.Stdin.Fd()), t.before) // fails if the terminal is gone
		t.before = nil
	}
}
