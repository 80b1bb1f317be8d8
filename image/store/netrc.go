package store

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
)

// maxCredentials bounds enroot's file, in bytes.
const maxCredentials = 1 << 20

// netrc holds the entries of a file in the form of netrc.
type netrc []netrcEntry

type netrcEntry struct {
	machine         string // empty: every host
	login, password string
}

// ofEnroot returns the entries of enroot's file of logins; none if there is no file.
func (c credentials) ofEnroot() (netrc, error) {
	f, err := os.Open(c.enroot)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, failed(Denied, "correct its rights, or remove it", "enroot's file of logins cannot be read: %s", plain(err))
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxCredentials))
	if err != nil {
		return nil, failed(Denied, "correct its rights, or remove it", "enroot's file of logins cannot be read: %s", plain(err))
	}
	return parseNetrc(string(text), c.getenv), nil
}

// parseNetrc returns the entries of a text in the form of netrc: words with spaces or line ends between them, comments
// from a # to the end of the line. A login or password $NAME or ${NAME} is the value of that variable, and stays as it is
// if the variable is not set: $oauthtoken is a login of NVIDIA's registry.
func parseNetrc(text string, getenv func(string) string) netrc {
	var words []string
	for line := range strings.Lines(text) {
		for _, word := range strings.Fields(line) {
			if strings.HasPrefix(word, "#") {
				break
			}
			words = append(words, word)
		}
	}
	var out netrc
	value := func() (string, bool) { // the word after a keyword
		if len(words) < 2 {
			words = nil
			return "", false
		}
		v := words[1]
		words = words[2:]
		return v, true
	}
	for len(words) > 0 {
		keyword := words[0]
		switch keyword {
		case "machine":
			if host, ok := value(); ok {
				out = append(out, netrcEntry{machine: strings.ToLower(host)})
			}
		case "default":
			out, words = append(out, netrcEntry{}), words[1:]
		case "login", "password", "account":
			v, ok := value()
			if !ok || len(out) == 0 {
				continue
			}
			last := &out[len(out)-1]
			switch keyword {
			case "login":
				last.login = expand(v, getenv)
			case "password":
				last.password = expand(v, getenv)
			}
		default:
			words = words[1:]
		}
	}
	return out
}

func expand(word string, getenv func(string) string) string {
	if len(word) >= 2 && word[0] == '"' && word[len(word)-1] == '"' {
		word = word[1 : len(word)-1]
	}
	variable, is := strings.CutPrefix(word, "$")
	if !is {
		return word
	}
	if inside, braced := strings.CutPrefix(variable, "{"); braced {
		variable = strings.TrimSuffix(inside, "}")
	}
	if v := getenv(variable); v != "" {
		return v
	}
	return word
}

// find returns the first login for a host, of a user unless user is empty; nil if there is none.
func (n netrc) find(user, host string) authn.Authenticator {
	for _, e := range n {
		if (e.machine == "" || e.machine == strings.ToLower(host)) && (user == "" || user == e.login) && e.password != "" {
			return &authn.Basic{Username: e.login, Password: e.password}
		}
	}
	return nil
}
