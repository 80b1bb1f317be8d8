package batch

import (
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/slurm/filename"
	"github.com/berth-gpu/berth/slurm/run/task"
)

// scriptFiles are the standard streams of the script. What the script writes goes into the log of the job, which is this process's own
// output, and into the files of the user.
type scriptFiles struct {
	stdin *os.File
	child [2]*os.File // ends of pipes, for the script
	own   [2]*os.File // the other ends
	files [2]*copyFile

	pumps []func() // each ends the copying of a stream
}

// copyFile is a file of the user, into which output is copied. Both streams may share one.
type copyFile struct {
	name string

	mu    sync.Mutex
	file  *os.File // nil: it could not be opened
	fails bool     // and it was reported
}

// open opens the files of the user and the pipes. A file that cannot be opened is reported, and the job goes on without it.
func (r *rank) open() (*scriptFiles, error) {
	s := &scriptFiles{}
	for i := range s.child {
		var err error
		if s.own[i], s.child[i], err = os.Pipe(); err != nil {
			return nil, err
		}
	}
	req := &r.file.Request
	stdout := req.Stdout
	if stdout == "" {
		stdout = filename.Default
		if r.file.Job.Array.Count > 0 {
			stdout = filename.DefaultArray
		}
	}
	s.files[0] = r.output(stdout)
	s.files[1] = s.files[0]
	values := task.Values(r.file)
	if req.Stderr != "" && filename.Expand(req.Stderr, values) != filename.Expand(stdout, values) {
		s.files[1] = r.output(req.Stderr)
	}
	s.stdin = r.input()
	var err error
	if s.stdin == nil {
		s.stdin, err = os.Open(os.DevNull)
	}
	return s, err
}

// output opens a file for output. Files of the first run are emptied unless the job says otherwise, and kept after a requeue.
func (r *rank) output(pattern string) *copyFile {
	req := &r.file.Request
	keep := req.Append || r.file.Job.Restarts > 0 && !req.Truncate
	c := &copyFile{name: filename.Expand(pattern, task.Values(r.file))}
	if c.name == os.DevNull {
		return c
	}
	file, err := task.Open(pattern, task.Values(r.file), r.file.WorkDir, keep)
	if err != nil {
		complain(0, "the output is only in the log of the job: %v", err)
		return c
	}
	c.file = file
	return c
}

// input opens the file for input, or returns nil. Without a file the script has the input that the job was submitted with.
func (r *rank) input() *os.File {
	if r.file.Request.Stdin == "" {
		fd, err := unix.FcntlInt(os.Stdin.Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			return nil
		}
		return os.NewFile(uintptr(fd), "stdin")
	}
	file, err := task.OpenInput(r.file.Request.Stdin, task.Values(r.file), r.file.WorkDir)
	if err != nil {
		complain(0, "the script has no input: %v", err)
		return nil
	}
	return file
}

// given closes what the script has.
func (s *scriptFiles) given() {
	for _, f := range []*os.File{s.stdin, s.child[0], s.child[1]} {
		_ = f.Close()
	}
}

// begin copies what the script writes.
func (s *scriptFiles) begin() {
	for i, log := range []*os.File{os.Stdout, os.Stderr} {
		file := s.files[i]
		s.pumps = append(s.pumps, task.Pump(s.own[i], func(data []byte) bool {
			_, _ = log.Write(data) // the file of the user has it, too
			file.write(data)
			return true
		}))
	}
}

// finish waits until all is copied that the script has written.
func (s *scriptFiles) finish() {
	var all sync.WaitGroup
	for _, finish := range s.pumps {
		all.Go(finish)
	}
	all.Wait()
	for _, f := range s.files {
		f.close()
	}
}

// complain writes a message of Berth into the log of the job and into the user's file for errors, where users look.
func (s *scriptFiles) complain(text string) {
	complain(0, "%s", text)
	s.files[1].write([]byte("berth: " + text + "\n"))
}

// refuse reports why the script cannot start, and returns the exit code.
func (s *scriptFiles) refuse(err error) int {
	s.complain("the script cannot start: " + err.Error())
	for _, f := range s.files {
		f.close()
	}
	return failed
}

// write appends output. The first failure is reported; later output is tried again, because a full disk may have room again.
func (c *copyFile) write(data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return
	}
	n, err := c.file.Write(data)
	if err == nil && n < len(data) {
		err = io.ErrShortWrite
	}
	if err != nil && !c.fails {
		c.fails = true
		complain(0, "some output is only in the log of the job, and not in %s: %v", c.name, err)
	}
}

// close closes the file. An error is reported: some file systems report only then that they are full.
func (c *copyFile) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.file == nil {
		return
	}
	if err := c.file.Close(); err != nil && !c.fails {
		c.fails = true
		complain(0, "some output may be missing in %s: %v", c.name, err)
	}
	c.file = nil
}
