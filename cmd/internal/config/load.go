package config

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"
)

// Layer is where a value comes from. A later one wins.
type Layer uint8

// The layers.
const (
	FromDefault Layer = iota
	FromFile
	FromEnvironment
	FromFlag
)

// String returns the layer's name.
func (l Layer) String() string {
	return [...]string{"default", "file", "environment", "flag"}[l]
}

// Origin is where a value comes from.
type Origin struct {
	Layer Layer
	Where string // "berth.yaml:3: server.http", "PORT", "--http"; empty: it is the default
}

// Source is where a program's settings are read from.
type Source struct {
	Program  Program
	File     string // empty: none, unless the environment names one
	Optional bool   // the file may be missing
	Environ  []string
	Flags    map[string][]string // what was given, by flag
	UID      func() int          // of the user that files must belong to; nil: this process's
}

// account returns the id of the user that files must belong to.
func (s *Source) account() uint32 {
	if s.UID != nil {
		return uint32(s.UID())
	}
	return uint32(os.Geteuid())
}

// Loaded is a configuration and where each of its values comes from.
type Loaded struct {
	*Config
	// File is the one that was read; empty: none.
	File string
	// Notes list what was given without effect, and why.
	Notes []string

	source   Source
	skipped  error // why the user's own file was not read
	table    *table
	origins  map[string]Origin
	unread   map[string]bool              // settings with a wrong value, which is not taken
	contents map[string][sha256.Size]byte // of the files that settings name, by setting
}

// The names of the file's path in flags and environment.
const (
	fileVariable  = "BERTH_CONFIG"
	otherVariable = "CONFIG_PATH" // of peers and agents
	defaultFile   = "config.yaml" // of peers and agents without --config, if it exists
)

// Load reads all layers. Its error joins one error for each fault, with its place; the
// configuration is then incomplete, and is only good for finding further faults.
func Load(src Source) (*Loaded, error) {
	c := New()
	l := &Loaded{Config: c, source: src, origins: map[string]Origin{}, unread: map[string]bool{}}
	if src.Program == OfClient {
		l.table = plainTable(c.of(OfClient)) // a client starts for each request; its file is read by the whole table
	} else {
		l.table = newTable(c.Settings())
	}
	wrong := []error{l.readFile(), l.apply(FromEnvironment, l.environment()), l.blankVariables()}
	if src.Program != OfClient { // whose environment holds variables of other programs
		l.noteStrangers()
	}
	var flags []given
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if texts := src.Flags[row.Flag]; row.Flag != "" && len(texts) > 0 && row.For&src.Program != 0 {
			flags = append(flags, given{name: row.Name, where: "--" + row.Flag, texts: texts})
		}
	}
	wrong = append(wrong, l.apply(FromFlag, flags), l.apart(), l.spare())
	l.noteContents()
	return l, errors.Join(wrong...)
}

// noteContents records hashes of the files that settings name. A file that cannot be read is left
// out: its reader reports the error.
func (l *Loaded) noteContents() {
	l.contents = map[string][sha256.Size]byte{}
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if !row.File || row.For&l.source.Program == 0 || row.Value.Text() == "" {
			continue
		}
		if text, err := os.ReadFile(row.Value.Text()); err == nil {
			l.contents[row.Name] = sha256.Sum256(text)
		}
	}
}

// apart refuses a section together with the file that replaces it, whichever layers they come from:
// one would be lost.
func (l *Loaded) apart() error {
	var wrong []error
	for _, pair := range [][2]string{
		{"auth.keys_file", "auth.api_keys"}, {"auth.keys_file", "auth.header_name"}, {"workloads.defaults_file", "workloads.defaults"}, {"oidc.groups_file", "oidc.groups"},
	} {
		if l.given(pair[0]) && l.given(pair[1]) {
			wrong = append(wrong, fmt.Errorf("%s and %s exclude each other: leave one of them", l.At(pair[1]), l.At(pair[0])))
		}
	}
	return errors.Join(wrong...)
}

// Within adds the name of the file to an error of a section's reader, "line 3: ...", or to several
// that are joined.
func (l *Loaded) Within(err error) error {
	f := &file{name: l.File}
	for _, one := range Each(err) {
		f.syntax(one)
	}
	return errors.Join(f.problems...)
}

// lookup returns a variable's value; an empty variable counts as not set.
func (l *Loaded) lookup(name string) string {
	value, _ := l.find(name)
	return value
}

// find returns the value of a variable, and reports whether the variable exists.
func (l *Loaded) find(name string) (string, bool) {
	for _, v := range slices.Backward(l.source.Environ) {
		if value, found := strings.CutPrefix(v, name+"="); found {
			return value, true
		}
	}
	return "", false
}

// readFile reads the file that the command line, the environment or the program names.
func (l *Loaded) readFile() error {
	name, optional := l.source.File, l.source.Optional
	if name == "" || optional {
		if v := l.lookup(fileVariable); v != "" {
			name, optional = v, false
		} else if v := l.lookup(otherVariable); v != "" && l.source.Program&(OfServer|OfAgent) != 0 {
			name, optional = v, false
		}
	}
	unnamed := name == "" && l.source.Program&(OfServer|OfAgent) != 0
	if unnamed {
		name, optional = defaultFile, true
	}
	if name == "" {
		return nil
	}
	users := optional && l.source.Program == OfClient
	text, err := l.readAll(name, unnamed, users)
	switch {
	case err == nil:
	case optional && (errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)):
		return nil
	case users:
		l.skipped = fmt.Errorf("the configuration cannot be used: %w", err)
		return nil
	case unnamed:
		return fmt.Errorf("the configuration cannot be used: %w", err)
	default:
		return fmt.Errorf("the configuration cannot be read: %w", err)
	}
	if l.File = name; unnamed {
		l.Notes = append(l.Notes, fmt.Sprintf("%s of this folder is read, since neither --config nor %s nor %s names a file", name, fileVariable, otherVariable))
	}
	l.table = newTable(l.Settings()) // a file may hold the settings of all programs
	f := readFile(name, text, l.table)
	for _, name := range f.unread {
		l.leave(name)
	}
	if err := l.secretly(name, f.given); err != nil {
		f.problems = append(f.problems, err)
	}
	return InOrder(append(f.problems, l.apply(FromFile, f.given))...) // what can be read is checked even if other parts cannot
}

// leave records that the value of a setting, given under any of its names, is not taken.
func (l *Loaded) leave(name string) {
	if row := l.table.row(name); row != nil {
		l.unread[row.Name] = true
	}
	for _, o := range l.table.others[name] {
		l.unread[o.To] = true
	}
}

// Unread reports whether a setting was given a value that is not valid, so that its present value
// does not count.
func (l *Loaded) Unread(name string) bool { return l.unread[name] }

// environment returns the values that variables give. Only those of the program count: a variable
// named PORT means nothing to a command that asks a cluster.
func (l *Loaded) environment() (out []given) {
	note := func(name, variable string) {
		if text := l.lookup(variable); strings.TrimSpace(text) != "" { // see blankVariables
			out = append(out, given{name: name, where: variable, texts: []string{text}})
		}
	}
	for i := range l.table.rows {
		if row := &l.table.rows[i]; row.For&l.source.Program != 0 {
			note(row.Name, row.Variable())
		}
	}
	if l.source.Program&OfServer == 0 {
		return out
	}
	seen := map[string]bool{}
	for _, o := range otherNames() {
		if o.Env != "" && !seen[o.Env] {
			seen[o.Env] = true
			note(o.Env, o.Env)
		}
	}
	return out
}

// blankVariables refuses variables of settings that exist and are blank: they were set for a
// purpose, and without them the file or the default would count. Empty variables under other
// programs' names count as not set.
func (l *Loaded) blankVariables() error {
	var wrong []error
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if value, given := l.find(row.Variable()); given && row.For&l.source.Program != 0 && strings.TrimSpace(value) == "" {
			wrong = append(wrong, fmt.Errorf("%s is empty: unset it, or check whether a variable that it is made of is unset", row.Variable()))
			l.leave(row.Name)
		}
	}
	return errors.Join(wrong...)
}

// noteStrangers notes variables that look like settings but are not. They are not errors: the
// environment is shared with other programs.
func (l *Loaded) noteStrangers() {
	known := []string{fileVariable}
	for i := range l.table.rows {
		known = append(known, l.table.rows[i].Variable())
	}
	for _, v := range l.source.Environ {
		name, _, _ := strings.Cut(v, "=")
		section, _, nested := strings.Cut(strings.ToLower(strings.TrimPrefix(name, "BERTH_")), "_")
		if strings.HasPrefix(name, "BERTH_") && nested && l.table.sections[section] && !slices.Contains(known, name) {
			l.Notes = append(l.Notes, fmt.Sprintf("%s has no effect: there is no such setting%s", name, meant(name, known)))
		}
	}
}

// said is one value for a setting, in the setting's own terms.
type said struct {
	given
	weak bool // any other value of its layer wins over it
}

// apply applies the values of a layer: contradictions within the layer are errors.
func (l *Loaded) apply(layer Layer, list []given) error {
	words := map[string][]said{}
	var wrong []error
	for _, g := range list {
		if row := l.table.row(g.name); row != nil {
			words[row.Name] = append(words[row.Name], said{given: g})
			continue
		}
		for _, o := range l.table.others[g.name] {
			word, err := l.translate(&o, g)
			if err != nil {
				wrong = append(wrong, fmt.Errorf("%s %w", g.where, err))
				l.leave(g.name)
				break
			}
			if o.To != "" {
				words[o.To] = append(words[o.To], word)
			}
		}
	}
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if err := l.settle(layer, row, words[row.Name]); err != nil {
			wrong = append(wrong, err)
			l.leave(row.Name)
		}
	}
	return errors.Join(wrong...)
}

// translate converts a value under another name to the setting's own terms.
func (l *Loaded) translate(o *Other, g given) (said, error) {
	text := strings.TrimSpace(strings.Join(g.texts, ","))
	now := ""
	if row := l.table.row(o.To); row != nil {
		now = row.Value.Text()
	}
	out := said{given: g, weak: o.Weak != nil && o.Weak(text)}
	if o.Read != nil {
		text, err := o.Read(text, now)
		if err != nil {
			return out, err
		}
		out.texts = []string{text}
	}
	if o.To == "" {
		l.Notes = append(l.Notes, fmt.Sprintf("%s has no effect: %s", g.where, o.Why))
	}
	return out, nil
}

// settle gives a setting the value of a layer.
func (l *Loaded) settle(layer Layer, row *Setting, words []said) error {
	if slices.ContainsFunc(words, func(w said) bool { return !w.weak }) {
		words = slices.DeleteFunc(words, func(w said) bool { return w.weak })
	}
	for i, w := range words {
		before, shown := row.Value.Text(), row.Shown()
		if err := l.set(row, w); err != nil {
			return err
		}
		if i > 0 && row.Value.Text() != before {
			return fmt.Errorf("%s and %s contradict each other (%s and %s): leave one of them", words[0].where, w.where,
				shown, row.Shown())
		}
		l.origins[row.Name] = Origin{layer, w.where}
	}
	return nil
}

func (l *Loaded) set(row *Setting, w said) error {
	if v, is := row.Value.(part); is && w.node != nil {
		f := &file{name: l.File}
		v.read(f, w.node)
		return errors.Join(f.problems...)
	}
	if err := row.Value.Set(w.texts); err != nil {
		return fmt.Errorf("%s %w", w.where, err)
	}
	return nil
}

// Rows returns all settings in order.
func (l *Loaded) Rows() []Setting { return l.table.rows }

// Origin returns where the value of a setting comes from.
func (l *Loaded) Origin(name string) Origin { return l.origins[name] }

// At returns the name under which a setting was given: the line of the file, the variable or the
// flag.
func (l *Loaded) At(name string) string {
	if where := l.origins[name].Where; where != "" {
		return where
	}
	if row := l.table.row(name); row != nil && row.Flag != "" {
		return fmt.Sprintf("--%s (%s in the file)", row.Flag, name)
	}
	return name
}

// Differences returns the cluster's settings that are given here and differ from the values in
// force.
func (l *Loaded) Differences(now Cluster) (out []string) {
	force := newTable(now.Settings())
	for i := range l.table.rows {
		row := &l.table.rows[i]
		if !row.Cluster || l.origins[row.Name].Layer == FromDefault {
			continue
		}
		if its := force.row(row.Name); its.Value.Text() != row.Value.Text() {
			out = append(out, fmt.Sprintf("%s is %s here and %s in the cluster", l.At(row.Name), row.Shown(), its.Shown()))
		}
	}
	return out
}
