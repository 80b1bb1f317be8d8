// Package container understands the options by which scripts for Slurm run programs with the files of an image, as the plug-in pyxis
// (https://github.com/NVIDIA/pyxis) has them: --container-image and others. It runs nothing and reads no file.
package container

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
)

// Options say in which image programs run. The zero value stands for none: they run with the files of their node.
type Options struct {
	Image   string  `json:"image,omitempty" doc:"[USER@][REGISTRY#]IMAGE[:TAG], or the path of a file or folder"`
	Name    string  `json:"name,omitempty" doc:"name under which the changed files are kept on the node for later steps and jobs of the user"`
	Use     Use     `json:"use,omitempty" doc:"what is required of the name: create, exec or no_exec; empty: nothing"`
	Mounts  []Mount `json:"mounts,omitempty" doc:"files and folders of the node that the programs see"`
	Workdir string  `json:"workdir,omitempty" doc:"folder in the image that the programs start in; empty: the one of the image"`

	Env        []string `json:"env,omitempty" doc:"variables whose values of the job count, although the image sets them"`
	Home       bool     `json:"home,omitempty" doc:"the programs see the home folder of the user"`
	Root       bool     `json:"root,omitempty" doc:"the user has the number 0 in the image, without more rights"`
	Entrypoint bool     `json:"entrypoint,omitempty" doc:"the entry point of the image starts the programs"`
	ReadOnly   bool     `json:"read_only,omitempty" doc:"the programs cannot change the files of the image"`
}

// Use says what is required of a container of that name.
type Use string

// What may be required.
const (
	Auto   Use = ""        // it is used if it exists, and made otherwise
	Create Use = "create"  // it must not exist
	Exec   Use = "exec"    // it must run
	NoExec Use = "no_exec" // it must not run
)

// Mount is a file or folder of the node that programs in an image see.
type Mount struct {
	Source   string `json:"source"` // of the node; relative to the folder that the step or script is started from
	Target   string `json:"target"` // absolute path in the image
	ReadOnly bool   `json:"read_only,omitempty"`
	Alone    bool   `json:"alone,omitempty"` // without the mounts below Source
}

// Given reports whether programs run in an image.
func (o *Options) Given() bool { return o != nil && (o.Image != "" || o.Name != "") }

// Copy returns options that share no data with these.
func (o *Options) Copy() *Options {
	c := *o
	c.Mounts, c.Env = slices.Clone(o.Mounts), slices.Clone(o.Env)
	return &c
}

// Bounds of options.
const (
	maxText   = 4096 // bytes of a path or name
	maxMounts = 128
	maxEnv    = 256
)

// Check returns what is invalid; nil: nothing.
func (o *Options) Check() error {
	for _, text := range append([]string{o.Image, o.Name, o.Workdir}, o.Env...) {
		if len(text) > maxText || strings.ContainsRune(text, 0) {
			return fmt.Errorf("%.80q has a zero byte or more than %d bytes", text, maxText)
		}
	}
	switch {
	case len(o.Mounts) > maxMounts:
		return fmt.Errorf("there are %d mounts; there may be %d", len(o.Mounts), maxMounts)
	case len(o.Env) > maxEnv:
		return fmt.Errorf("there are %d variables; there may be %d", len(o.Env), maxEnv)
	case o.Workdir != "" && !path.IsAbs(o.Workdir):
		return fmt.Errorf("the working folder %q is no absolute path", o.Workdir)
	}
	for _, m := range o.Mounts {
		if err := m.check(); err != nil {
			return err
		}
	}
	if o.Name != "" {
		return checkName(o.Name)
	}
	return nil
}

func (m *Mount) check() error {
	switch {
	case m.Source == "" || len(m.Source) > maxText || strings.ContainsRune(m.Source, 0):
		return fmt.Errorf("the mount of %.80q: the source is no path", m.Source)
	case !path.IsAbs(m.Target) || len(m.Target) > maxText || strings.ContainsRune(m.Target, 0):
		return fmt.Errorf("the mount of %s: the target %.80q is no absolute path", m.Source, m.Target)
	}
	return nil
}

// checkName returns why a name cannot be that of a folder.
func checkName(text string) error {
	bad := strings.IndexFunc(text, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+", r)
	})
	if bad >= 0 || len(text) > 200 || text[0] == '.' {
		return fmt.Errorf("the container name %.80q: only letters, digits and . _ - + are allowed, no leading dot, and 200 characters", text)
	}
	return nil
}

// ParseMounts returns the mounts of SRC[:DST[:FLAGS]],... with the flags ro, rw, bind, rbind, and those of propagation, joined by +.
func ParseMounts(list string) ([]Mount, error) {
	var all []Mount
	for text := range strings.SplitSeq(list, ",") {
		if text = strings.TrimSpace(text); text == "" {
			continue
		}
		m, err := parseMount(text)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return nil, errors.New("no mount is named; write SRC:DST")
	}
	return all, nil
}

func parseMount(text string) (Mount, error) {
	parts := strings.Split(text, ":")
	if len(parts) > 3 {
		return Mount{}, fmt.Errorf("the mount %q has more than three parts; write SRC:DST:FLAGS", text)
	}
	m := Mount{Source: parts[0], Target: parts[0]}
	if len(parts) > 1 {
		m.Target = parts[1]
	}
	if len(parts) > 2 {
		for flag := range strings.SplitSeq(parts[2], "+") {
			switch flag {
			case "ro":
				m.ReadOnly = true
			case "rw":
				m.ReadOnly = false
			case "bind":
				m.Alone = true
			case "rbind", "private", "rprivate", "slave", "rslave", "shared", "rshared", "x-create=auto", "x-create=dir", "x-create=file": // as it is anyway
			default:
				return Mount{}, fmt.Errorf("the mount %q has the unknown flag %q; known are ro, rw, bind and rbind", text, flag)
			}
		}
	}
	return m, m.check()
}

// Option is an option of sbatch and srun.
type Option struct {
	Name string // without --
	Form string // of its value; empty: it has none
	Text string // what it does, or why it has no effect or is refused
	Set  func(o *Options, value string) error

	Silent  bool   // it has no effect
	Refused string // what to do instead; empty: the option is not refused
}

// Table returns all options, in the order of the documentation. check returns why a text is no name of an image.
func Table(check func(image string) error) []Option {
	return append(valueOptions(check), switches()...)
}

func valueOptions(check func(image string) error) []Option {
	return []Option{
		{Name: "container-image", Form: "[USER@][REGISTRY#]IMAGE[:TAG]|PATH", Text: "image whose files the programs have", Set: setImage(check)},
		{
			Name: "container-mounts", Form: "SRC[:DST[:FLAGS]][,...]",
			Text: "files and folders of the node that the programs see; flags: ro, rw, bind, rbind",
			Set: func(o *Options, value string) (err error) {
				if o.Mounts, err = ParseMounts(value); err == nil {
					err = o.Check()
				}
				return err
			},
		},
		{
			Name: "container-workdir", Form: "FOLDER", Text: "folder in the image that the programs start in; the default is that of the image",
			Set: func(o *Options, value string) error {
				o.Workdir = value
				return o.Check()
			},
		},
		{
			Name: "container-name", Form: "NAME[:auto|create|exec|no_exec]",
			Text: "name under which the changed files are kept on the node, for later steps and jobs of the user", Set: setName,
		},
		{
			Name: "container-save", Form: "PATH", Text: "Berth writes no image files",
			Refused: "keep the changed files on the node by --container-name=NAME, or build an image with the changes",
		},
		{
			Name: "container-env", Form: "NAME[,NAME...]", Text: "variables whose values of the job count, although the image sets them",
			Set: func(o *Options, value string) error {
				o.Env = strings.FieldsFunc(value, func(r rune) bool { return r == ',' || r == ' ' })
				return o.Check()
			},
		},
	}
}

func setImage(check func(image string) error) func(o *Options, value string) error {
	return func(o *Options, value string) error {
		if value == "" {
			return errors.New("it is empty; name an image, such as nvcr.io#nvidia/pytorch:24.01-py3")
		}
		if err := check(value); err != nil {
			return err
		}
		o.Image = value
		return o.Check()
	}
}

func setName(o *Options, value string) error {
	text, use, _ := strings.Cut(value, ":")
	switch use {
	case "", "auto":
		o.Use = Auto
	case string(Create), string(Exec), string(NoExec):
		o.Use = Use(use)
	default:
		return fmt.Errorf("%q is unknown after the name; known are auto, create, exec and no_exec", use)
	}
	if text == "" {
		return errors.New("the name is empty")
	}
	o.Name = text
	return o.Check()
}

func switches() []Option {
	set := func(at func(*Options) *bool, to bool) func(*Options, string) error {
		return func(o *Options, _ string) error {
			*at(o) = to
			return nil
		}
	}
	home := func(o *Options) *bool { return &o.Home }
	root := func(o *Options) *bool { return &o.Root }
	entry := func(o *Options) *bool { return &o.Entrypoint }
	fixed := func(o *Options) *bool { return &o.ReadOnly }
	return []Option{
		{Name: "container-mount-home", Text: "the programs see the home folder of the user", Set: set(home, true)},
		{Name: "no-container-mount-home", Text: "the programs do not see the home folder of the user; the default", Set: set(home, false)},
		{Name: "container-remap-root", Text: "the user has the number 0 in the image, without more rights", Set: set(root, true)},
		{Name: "no-container-remap-root", Text: "the user has its own number in the image; the default", Set: set(root, false)},
		{Name: "container-entrypoint", Text: "the entry point of the image starts the programs", Set: set(entry, true)},
		{Name: "no-container-entrypoint", Text: "the programs start without the entry point of the image; the default", Set: set(entry, false)},
		{Name: "container-entrypoint-log", Silent: true, Text: "the output of the entry point is the output of the program that is started by the entry point"},
		{Name: "container-writable", Text: "the programs may change the files of the image, for their own time; the default", Set: set(fixed, false)},
		{Name: "container-readonly", Text: "the programs cannot change the files of the image", Set: set(fixed, true)},
	}
}
