// Package terminal writes to terminals. Jobs and users choose much of the text that commands print,
// and a terminal obeys control characters: such text could set the window's title, fill the
// clipboard or rewrite lines above. Everything that a command writes to a terminal goes through one
// filter, which lets text, line ends, tabs and colours pass.
package terminal

import (
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// Output is a terminal to which only text is written.
type Output struct {
	filter

	file *os.File
}

// Wrap returns an [Output] if w is a terminal, and w itself otherwise: files and pipes get every
// byte unchanged.
func Wrap(w io.Writer) io.Writer {
	f, is := w.(*os.File)
	if !is {
		return w
	}
	if _, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS); err != nil {
		return w
	}
	return &Output{filter: filter{to: f}, file: f}
}

// Raw returns the writer below an Output, for a program's own control sequences; w itself if it is
// no Output.
func Raw(w io.Writer) io.Writer {
	if o, is := w.(*Output); is {
		return o.file
	}
	return w
}

// Columns returns how many columns a terminal has; 0: w is no terminal, or its size is not known,
// so that nothing has to be cut.
func Columns(w io.Writer) int {
	columns, _ := Size(w)
	return columns
}

// Size returns how many columns and lines a terminal has now; zeros as with [Columns].
func Size(w io.Writer) (columns, lines int) {
	switch v := w.(type) {
	case *Output:
		size, err := unix.IoctlGetWinsize(int(v.file.Fd()), unix.TIOCGWINSZ)
		if err != nil {
			return 0, 0
		}
		return int(size.Col), int(size.Row)
	case interface{ Size() (columns, lines int) }:
		return v.Size()
	}
	return 0, 0
}

// Resized returns a channel that receives a value when the size of the process's terminal has
// changed, until stop is called.
func Resized() (resized <-chan os.Signal, stop func()) {
	c := make(chan os.Signal, 1)
	signal.Notify(c, unix.SIGWINCH)
	return c, func() { signal.Stop(c) }
}

// whole is an output without a limit on the width of lines.
type whole struct{ io.Writer }

// Whole returns w without its size: tables written to it are not cut.
func Whole(w io.Writer) io.Writer { return whole{w} }

// IsWhole reports whether w was made by [Whole].
func IsWhole(w io.Writer) bool {
	_, is := w.(whole)
	return is
}
