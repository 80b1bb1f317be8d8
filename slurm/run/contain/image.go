// Package contain runs programs of a job with the files of an image: it fetches the image by berthd, starts a process with namespaces of
// its own, and lets that process start the programs. The programs belong to the rank like all others: they are its processes, have its
// GPUs, and end with it.
package contain

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/berth-gpu/berth/image/name"
)

// image is an image on this node, as berthd image fetch prints it.
type image struct {
	Digest     string   `json:"digest"`
	Root       string   `json:"root"` // folder with its files
	Lock       string   `json:"lock"` // file; the image is not removed while it is locked. Empty: it is never removed.
	Env        []string `json:"env"`
	Workdir    string   `json:"workdir"`
	Entrypoint []string `json:"entrypoint"`
	Cmd        []string `json:"cmd"`
}

// Images fetches images for the account of this process.
type Images struct {
	daemon string // path of berthd
	folder string // for images

	mu     sync.Mutex
	pinned map[string]string // names with digests, by names without
}

// NewImages returns the images in a folder; daemon is the path of the program berthd.
func NewImages(daemon, folder string) *Images {
	return &Images{daemon: daemon, folder: folder, pinned: map[string]string{}}
}

// Pin returns the name of an image with its digest, which is the same for all later calls. Paths stay as they are.
func (i *Images) Pin(ctx context.Context, image string) (string, error) {
	parsed, err := name.Parse(image)
	if err != nil || parsed.IsPath() || parsed.Pinned() {
		return image, err
	}
	i.mu.Lock()
	known := i.pinned[image]
	i.mu.Unlock()
	if known != "" {
		return known, nil
	}
	text, err := i.run(ctx, func(string) {}, "resolve", image)
	pinned := strings.TrimSpace(string(text))
	if err == nil && pinned == "" {
		err = fmt.Errorf("the image %s has no name with a digest", image)
	}
	if err != nil {
		return "", err
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.pinned[image] == "" { // else another step was faster
		i.pinned[image] = pinned
	}
	return i.pinned[image], nil
}

// absolute returns the name of an image, in which a path is absolute.
func absolute(image, base string) string {
	if parsed, err := name.Parse(image); err == nil && parsed.IsPath() && !filepath.IsAbs(image) {
		return filepath.Join(base, image)
	}
	return image
}

// fetch makes an image available on this node. note gets lines about the progress.
func (i *Images) fetch(ctx context.Context, called string, note func(string)) (*image, error) {
	text, err := i.run(ctx, note, "fetch", called)
	if err != nil {
		return nil, err
	}
	out := &image{}
	if err := json.Unmarshal(text, out); err != nil || out.Root == "" {
		return nil, fmt.Errorf("the program %s does not describe the image %s: %w", i.daemon, called, errors.Join(err, errors.New("it names no folder")))
	}
	return out, nil
}

// run runs berthd image. The error is the last line that the program writes to standard error.
func (i *Images) run(ctx context.Context, note func(string), verb, image string) ([]byte, error) {
	if i.daemon == "" || i.folder == "" {
		return nil, errors.New("this node runs no images: its agent names no folder for images; update the agent of the node")
	}
	cmd := exec.CommandContext(ctx, i.daemon, "image", verb, "--folder", i.folder, "--", image) //nolint:gosec // the agent's own program
	cmd.SysProcAttr = &unix.SysProcAttr{Pdeathsig: unix.SIGKILL}
	var out bytes.Buffer
	cmd.Stdout = &out
	messages, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	last := ""
	lines := bufio.NewScanner(messages)
	for lines.Scan() {
		if last != "" {
			note(last)
		}
		last = lines.Text()
	}
	_, _ = io.Copy(io.Discard, messages) // a line that is too long
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && last != "":
		return nil, errors.New(strings.TrimPrefix(last, "berth: "))
	case err != nil:
		return nil, fmt.Errorf("%s: %w", i.daemon, err)
	case last != "":
		note(last)
	}
	return out.Bytes(), nil
}
