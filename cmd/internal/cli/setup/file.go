package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/files/smallfile"
)

// entry is one setting in a file.
type entry struct {
	name  string // below its section
	value any    // text, a list of texts or a switch
}

// section is a part of a file of settings, such as server.
type section struct {
	name    string
	entries []entry
}

// text returns the section as YAML.
func (s *section) text() (string, error) {
	node := &yaml.Node{Kind: yaml.MappingNode}
	for _, e := range s.entries {
		name, value := &yaml.Node{}, &yaml.Node{}
		if err := errors.Join(name.Encode(e.name), value.Encode(e.value)); err != nil {
			return "", err
		}
		node.Content = append(node.Content, name, value)
	}
	var out bytes.Buffer
	to := yaml.NewEncoder(&out)
	to.SetIndent(2)
	err := errors.Join(to.Encode(map[string]*yaml.Node{s.name: node}), to.Close())
	return out.String(), err
}

// fileHead begins a new file of settings.
const fileHead = "# Settings of Berth on this machine. berth config example prints all, berth config validate checks this file.\n"

// settings is a file of settings that sections are added to.
type settings struct {
	path string
	old  []byte // empty: there is no file
	has  map[string]any
}

// readSettings reads a file of settings, which may be missing. Its error is that the file cannot be added to.
func readSettings(path string) (*settings, error) {
	f := &settings{path: path}
	text, err := os.ReadFile(path) //nolint:gosec // the file that the administrator names
	if errors.Is(err, fs.ErrNotExist) {
		return f, nil
	}
	if err != nil {
		return nil, err
	}
	if err := yaml.Unmarshal(text, &f.has); err != nil {
		return nil, fmt.Errorf("%s is not valid YAML: correct the file, or name another with --config: %w", path, err)
	}
	f.old = text
	return f, nil
}

// gossipPort returns the port of gossip for a member whose section of the file is named: the usual one, or the next if the
// other member of the machine has that.
func (f *settings) gossipPort(section string) int {
	other := map[string]string{"server": "agent", "agent": "server"}[section]
	if f == nil {
		return portGossip
	}
	has, _ := f.has[other].(map[string]any)
	if text, _ := has["gossip"].(string); strings.HasSuffix(text, fmt.Sprintf(":%d", portGossip)) {
		return portGossip + 1
	}
	return portGossip
}

// add writes the sections after the text of the file. A file that has the first of them already stays as it is, and all
// sections are returned; other sections that the file has are returned alone.
func (f *settings) add(sections ...section) (kept []section, err error) {
	out := strings.Builder{} // what comes after the old text
	if len(f.old) == 0 {
		out.WriteString(fileHead)
	} else if !strings.HasSuffix(string(f.old), "\n") {
		out.WriteString("\n")
	}
	added := false
	for _, s := range sections {
		if f.same(&s) {
			continue
		}
		if _, has := f.has[s.name]; has || len(kept) > 0 && kept[0].name == sections[0].name {
			kept = append(kept, s)
			continue
		}
		text, err := s.text()
		if err != nil {
			return nil, err
		}
		out.WriteString("\n" + text)
		added = true
	}
	if !added {
		return kept, nil
	}
	if err := os.MkdirAll(filepath.Dir(f.path), 0o755); err != nil { //nolint:gosec // every account reads settings, as in /etc
		return nil, err
	}
	if len(f.old) > 0 {
		return kept, appendTo(f.path, out.String())
	}
	if err := smallfile.WriteBytes(f.path, []byte(out.String())); err != nil {
		return nil, err
	}
	return kept, os.Chmod(f.path, 0o644) //nolint:gosec // every account reads settings, as in /etc
}

// same reports whether the file has a section as it would be written, as after a command that was stopped.
func (f *settings) same(s *section) bool {
	text, err := s.text()
	if err != nil {
		return false
	}
	var would map[string]any
	has, is := f.has[s.name]
	return is && yaml.Unmarshal([]byte(text), &would) == nil && reflect.DeepEqual(has, would[s.name])
}

// appendTo adds a text to a file, whose owner, mode and links stay.
func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0) //nolint:gosec // the file that the administrator names
	if err != nil {
		return err
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(err, file.Close())
	}
	return errors.Join(appendAll(file, info.Size(), text), file.Close())
}

// appendable is a file that is added to.
type appendable interface {
	WriteString(text string) (int, error)
	Truncate(size int64) error
	Sync() error
}

// appendAll adds all of a text to a file of a size, or nothing: half a section, as on a full disk, would be an error in the file.
func appendAll(file appendable, size int64, text string) error {
	_, err := file.WriteString(text)
	if err == nil {
		err = file.Sync()
	}
	if err != nil {
		err = errors.Join(err, file.Truncate(size))
	}
	return err
}
