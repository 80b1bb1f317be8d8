package contain

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/lock"
	"github.com/berth-gpu/berth/image/root"
	"github.com/berth-gpu/berth/slurm/container"
	"github.com/berth-gpu/berth/slurm/jobfile"
	"github.com/berth-gpu/berth/slurm/run/process"
)

// Node has the containers of a job on one node.
type Node struct {
	Images *Images

	host *process.Host
	file *jobfile.File

	mu      sync.Mutex
	last    int
	named   map[string]*instance
	opening map[string]chan struct{} // closed when the container of that name is there, or is not to come
}

// NewNode returns the containers of a node, of which there are none yet.
func NewNode(host *process.Host, file *jobfile.File) *Node {
	n := &Node{Images: NewImages(file.Daemon, ""), host: host, file: file, named: map[string]*instance{}, opening: map[string]chan struct{}{}}
	if file.Images != "" {
		n.Images.folder = filepath.Join(file.Images, "store")
	}
	return n
}

// Open returns a container by its options: one that runs under the same name, or a new one. base is the folder for relative paths, of
// mounts and of the image. note gets lines about the progress of fetching the image. The container is closed by [Container.Close].
func (n *Node) Open(ctx context.Context, o *container.Options, base string, note func(string)) (*Container, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	c, err := n.open(ctx, o, base, note)
	if err != nil {
		return nil, err
	}
	if c.options != o && (len(o.Mounts) > 0 || o.Home != c.options.Home || o.Root != c.options.Root || o.ReadOnly != c.options.ReadOnly) {
		note("the container " + o.Name + " runs already: its mounts and its user are those of the step that has started it")
	}
	return &Container{c, o}, nil
}

// open returns the container of a step.
func (n *Node) open(ctx context.Context, o *container.Options, base string, note func(string)) (*instance, error) {
	if o.Name == "" {
		return n.create(ctx, o, base, note)
	}
	for {
		n.mu.Lock()
		c, wait := n.named[o.Name], n.opening[o.Name]
		if c != nil {
			c.users++
		}
		if c == nil && wait == nil && o.Use != container.Exec {
			n.opening[o.Name] = make(chan struct{})
		}
		n.mu.Unlock()
		switch {
		case c != nil && (o.Use == container.Create || o.Use == container.NoExec):
			c.Close()
			return nil, fmt.Errorf("the container %s runs already; leave out :%s after the name, or choose another name", o.Name, o.Use)
		case c != nil:
			return c, nil
		case wait != nil:
			select {
			case <-wait:
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		case o.Use == container.Exec:
			return nil, fmt.Errorf("no container %s runs on this node; start one first, or leave out :exec after the name", o.Name)
		default:
			return n.openNamed(ctx, o, base, note)
		}
	}
}

// openNamed makes the container of a name, for which others wait meanwhile.
func (n *Node) openNamed(ctx context.Context, o *container.Options, base string, note func(string)) (*instance, error) {
	c, err := n.create(ctx, o, base, note)
	n.mu.Lock()
	defer n.mu.Unlock()
	if err == nil {
		n.named[o.Name] = c
	}
	close(n.opening[o.Name])
	delete(n.opening, o.Name)
	return c, err
}

// create makes a container.
func (n *Node) create(ctx context.Context, o *container.Options, base string, note func(string)) (c *instance, err error) {
	c = &instance{node: n, name: o.Name, options: o, users: 1}
	defer func() {
		if err != nil {
			c.clear()
			c = nil
		}
	}()
	name, err := c.prepare(base)
	if err != nil {
		return c, err
	}
	pinned, err := c.take(ctx, name, note)
	if err != nil {
		return c, err
	}
	if c.name != "" {
		if err := c.remember(pinned); err != nil {
			return c, err
		}
	}
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	p, err := c.plan(ctx, base, self)
	if err != nil {
		return c, err
	}
	return c, c.start(ctx, p, self)
}

// prepare makes the folder for what changes, and returns the name of the image.
func (c *instance) prepare(base string) (string, error) {
	n, o := c.node, c.options
	name := absolute(o.Image, base)
	if o.Name == "" {
		n.mu.Lock()
		n.last++
		c.state = filepath.Join(n.file.Folder, "container-"+strconv.Itoa(n.last))
		n.mu.Unlock()
		return name, os.Mkdir(c.state, 0o700)
	}
	if n.file.Images == "" {
		return "", errors.New("this node has no folder for images; update its agent")
	}
	c.state = filepath.Join(n.file.Images, "names", o.Name)
	if err := os.MkdirAll(c.state, 0o700); err != nil {
		return "", err
	}
	held, err := hold(c.state)
	if err != nil {
		return "", fmt.Errorf("the container %s is in use by another job on this node; choose another name: %w", o.Name, err)
	}
	c.held = append(c.held, held)
	old, err := c.known()
	switch {
	case err != nil:
		return "", err
	case old != "" && o.Use == container.Create:
		return "", fmt.Errorf("the container %s exists already on this node; leave out :create after the name, or choose another name", o.Name)
	case old == "" && name == "":
		return "", fmt.Errorf("there is no container %s on this node; name its image by --container-image", o.Name)
	}
	return cmp.Or(old, name), nil
}

// memory is what is kept of a container with a name.
type memory struct{ Image string }

// known returns the image of a container that an earlier step or job has made; empty: there is none.
func (c *instance) known() (string, error) {
	data, err := os.ReadFile(filepath.Join(c.state, "image.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	var m memory
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	return m.Image, err
}

// remember keeps the image of a container.
func (c *instance) remember(name string) error {
	data, err := json.Marshal(memory{Image: name})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.state, "image.json"), data, 0o600)
}

// take fetches the image, keeps it from being removed, and returns its name with the digest.
func (c *instance) take(ctx context.Context, name string, note func(string)) (pinned string, err error) {
	pinned, err = c.node.Images.Pin(ctx, name)
	for try := 0; err == nil; try++ {
		if c.image, err = c.node.Images.fetch(ctx, pinned, note); err != nil || c.image.Lock == "" {
			return pinned, err
		}
		var held *os.File
		if held, err = lock.Hold(c.image.Lock); err == nil {
			c.held = append([]*os.File{held}, c.held...)
			return pinned, nil
		}
		if try < 2 && errors.Is(err, lock.ErrGone) { // just now, because the disk is full
			err = nil
		}
	}
	return "", err
}

// hold takes the lock of a container with a name, for its folder.
func hold(state string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(state, "lock"), os.O_RDWR|os.O_CREATE, 0o600) //nolint:gosec // in a folder of the account
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// plan returns the file system of the container.
func (c *instance) plan(ctx context.Context, base, self string) (*root.Plan, error) {
	f, o := c.node.file, c.options
	home := os.Getenv("HOME")
	p := &root.Plan{
		Image: c.image.Root, State: c.state, ReadOnly: o.ReadOnly, Binds: binds(f, o, base, self, home),
		Account: root.Account{User: f.Job.User, Group: cmp.Or(f.Job.Group, f.Job.User), UID: os.Getuid(), GID: os.Getgid(), Home: home, Shell: "/bin/sh"},
	}
	if o.Root {
		p.Account.UID, p.Account.GID, p.Account.User, p.Account.Group, p.Account.Home = 0, 0, "root", "root", "/root"
	}
	if dir := c.image.Workdir; filepath.IsAbs(dir) {
		p.Folders = append(p.Folders, dir)
	}
	if home := p.Account.Home; filepath.IsAbs(home) {
		p.Folders = append(p.Folders, home)
	}
	if len(f.Job.Nodes[f.Rank].GPUs) == 0 {
		return p, nil
	}
	driver, err := root.Driver(ctx)
	if err != nil {
		return nil, fmt.Errorf("the libraries of the driver are not found: %w", err)
	}
	c.driver, p.Binds = len(driver) > 0, append(p.Binds, driver...)
	return p, nil
}

// Close ends the container when no step uses it any more. What was changed is removed, unless the container has a name.
func (c *instance) Close() {
	n := c.node
	n.mu.Lock()
	c.users--
	last := c.users == 0
	if last && c.name != "" {
		delete(n.named, c.name)
		n.opening[c.name] = make(chan struct{}) // until it has ended
	}
	n.mu.Unlock()
	if !last {
		return
	}
	c.stop()
	c.clear()
	if c.name != "" {
		n.mu.Lock()
		close(n.opening[c.name])
		delete(n.opening, c.name)
		n.mu.Unlock()
	}
}

// clear removes what a container leaves, but for the changes of one with a name, and gives up its locks.
func (c *instance) clear() {
	defer func() {
		for _, f := range c.held {
			_ = f.Close() // nothing was written
		}
	}()
	switch {
	case c.state == "":
	case c.name == "":
		_ = root.Remove(c.state) // what cannot be removed goes with the folder of the rank
	default:
		_ = root.Tidy(c.state) // the next use makes it in any case
	}
}
