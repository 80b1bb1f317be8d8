package cli

import (
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/files/smallfile"
	"github.com/berth-gpu/berth/trust"
)

// Login is what a user's machine keeps of a cluster.
type Login struct {
	Name      string   `yaml:"-"`
	Addresses []string `yaml:"address"`
	Authority string   `yaml:"authority,omitempty"` // PEM; empty: plain text on this machine
	Token     string   `yaml:"token,omitempty"`
	SignedIn  bool     `yaml:"signed_in,omitempty"` // the token is of a sign-in at the identity provider

	Generation uint64 `yaml:"generation,omitempty"` // the highest of the cluster that was seen

	Authenticates bool `yaml:"authenticates,omitempty"` // the cluster asks for tokens, which it never stops to do
}

// Logins are the clusters that a user has logged in to, as files in a folder: NAME.yaml for each, and "current".
type Logins struct{ dir string }

// currentLogin is the file with the name of the cluster that commands use.
const currentLogin = "current"

// loginSuffix ends the names of files of logins.
const loginSuffix = ".yaml"

// UserLogins returns the logins of the user.
func UserLogins() (*Logins, error) {
	dir, err := os.UserConfigDir()
	if err != nil {
		return nil, fmt.Errorf("this user has no folder for settings: %w", err)
	}
	return &Logins{filepath.Join(dir, "berth", "clusters")}, nil
}

// maxLoginName is the greatest length of the name of a login.
const maxLoginName = 64

// CheckLoginName returns why a cluster cannot have a name on a user's machine.
func CheckLoginName(name string) error {
	odd := strings.IndexFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("._-", r)
	})
	if name == "" || len(name) > maxLoginName || odd >= 0 || strings.ContainsAny(name[:1], "._-") {
		return fmt.Errorf("%q is not a name of 1 to %d letters, digits, dots, hyphens and underscores that begins with a letter or digit", name, maxLoginName)
	}
	return nil
}

// Save stores a login and makes it the current one.
func (l *Logins) Save(v *Login) error {
	if err := CheckLoginName(v.Name); err != nil {
		return err
	}
	if err := os.MkdirAll(l.dir, 0o700); err != nil {
		return err
	}
	if err := l.write(v); err != nil {
		return err
	}
	return l.Use(v.Name)
}

func (l *Logins) write(v *Login) error {
	text, err := yaml.Marshal(v)
	if err != nil {
		return err
	}
	return smallfile.WriteBytes(filepath.Join(l.dir, v.Name+loginSuffix), text)
}

// follow stores how a cluster is recognized from now on, as a peer that was recognized has presented.
func (l *Logins) follow(v *Login, present trust.Known) {
	next := *v
	next.Authority, next.Generation = string(trust.EncodeCertificates(present.Authorities...)), present.Generation
	if err := l.write(&next); err != nil {
		fmt.Fprintf(os.Stderr, "berth: warning: the cluster %s has changed its authorities or its generation, which cannot be stored: %v\n", v.Name, err)
	}
}

// Use makes a login the current one.
func (l *Logins) Use(name string) error {
	if _, err := l.Get(name); err != nil {
		return err
	}
	return smallfile.WriteBytes(filepath.Join(l.dir, currentLogin), []byte(name+"\n"))
}

// Get returns a login; an empty name is the current one. The error is [fs.ErrNotExist] if there is none.
func (l *Logins) Get(name string) (*Login, error) {
	if name == "" {
		if name = l.Current(); name == "" {
			return nil, fs.ErrNotExist
		}
	}
	if err := CheckLoginName(name); err != nil {
		return nil, err
	}
	text, err := config.ReadPrivate(filepath.Join(l.dir, name+loginSuffix))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("no cluster %s is stored here: berth login %s stores one, and berth login --list shows all: %w", name, name, err)
	}
	if err != nil {
		return nil, err
	}
	v := &Login{Name: name}
	if err := yaml.Unmarshal(text, v); err != nil || len(v.Addresses) == 0 {
		return nil, fmt.Errorf("%s is damaged: log in again with berth login %s", filepath.Join(l.dir, name+loginSuffix), name)
	}
	return v, nil
}

// Current returns the name of the current login; empty: there is none.
func (l *Logins) Current() string {
	text, err := os.ReadFile(filepath.Join(l.dir, currentLogin))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Names returns the names of all logins, by the alphabet.
func (l *Logins) Names() ([]string, error) {
	entries, err := os.ReadDir(l.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if name, found := strings.CutSuffix(e.Name(), loginSuffix); found && CheckLoginName(name) == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Remove forgets a login.
func (l *Logins) Remove(name string) error {
	v, err := l.Get(name)
	if err != nil {
		return err
	}
	if v.Name == l.Current() {
		if err := os.Remove(filepath.Join(l.dir, currentLogin)); err != nil {
			return err
		}
	}
	return os.Remove(filepath.Join(l.dir, v.Name+loginSuffix))
}

// authorities returns the authorities by which a login recognizes its cluster; none: plain text on this machine.
func (v *Login) authorities() ([]*x509.Certificate, error) {
	if v.Authority == "" {
		return nil, nil
	}
	list, err := trust.DecodeCertificates([]byte(v.Authority), trust.MaxAuthorities)
	if err != nil {
		return nil, fmt.Errorf("the stored login %s does not hold the certificates of an authority: log in again with berth login %s: %w", v.Name, v.Name, err)
	}
	return list, nil
}

// HasToken reports whether requests carry a token, which identifies the user.
func HasToken() bool {
	if TokenOfEnvironment() != "" {
		return true
	}
	logins, err := UserLogins()
	if err != nil {
		return false
	}
	v, err := logins.Get(os.Getenv("BERTH_LOGIN"))
	return err == nil && v.Token != "" && os.Getenv("BERTH_ADDRESS") == ""
}
