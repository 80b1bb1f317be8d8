package store

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-containerregistry/pkg/authn"
)

// guard asks for a login: by basic authentication, or by tokens of a host of its own.
func guard(s *shelf, tokens bool, user, password string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		login, secret, is := r.BasicAuth()
		good := is && login == user && secret == password
		switch {
		case tokens && r.URL.Host == "tokens.test":
			if !good {
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			_, _ = fmt.Fprint(w, `{"token":"T"}`)
		case tokens && r.Header.Get("Authorization") != "Bearer T":
			w.Header().Set("WWW-Authenticate", `Bearer realm="https://tokens.test/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		case !tokens && !good:
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			s.ServeHTTP(w, r)
		}
	})
}

// Logins are those of docker and enroot, and the user in a name chooses among them.
func TestCredentials(t *testing.T) {
	t.Parallel()
	docker := func(host, user, password string) string {
		return `{"auths":{"` + host + `":{"auth":"` + base64.StdEncoding.EncodeToString([]byte(user+":"+password)) + `"}}}`
	}
	for what, test := range map[string]struct {
		tokens         bool
		docker, enroot string
		user           string // in the name
		kind           Kind
		says           string
	}{
		"none":                   {false, "", "", "", Denied, "docker's config.json"},
		"docker":                 {false, docker(host, "me", "SECRET"), "", "", 0, ""},
		"docker, tokens":         {true, docker(host, "me", "SECRET"), "", "", 0, ""},
		"docker, wrong":          {false, docker(host, "me", "WRONGSECRET"), "", "", Denied, ""},
		"docker, other host":     {false, docker("x.test", "me", "SECRET"), "", "", Denied, ""},
		"docker, broken":         {false, `{"auths":{"x":{"auth":"SECRET"}}`, "", "", Denied, "config.json cannot be read"},
		"enroot":                 {false, "", "machine x.test login a password b\nmachine " + host + " login me password SECRET", "", 0, ""},
		"enroot, variable":       {false, "", "machine " + host + "\n  login $NAME\n  password ${PASSWORD} # mine", "", 0, ""},
		"enroot, host of tokens": {true, "", "machine tokens.test login me password SECRET", "", 0, ""},
		"enroot, no such user":   {false, "", "machine " + host + " login me password SECRET", "you", Denied, `no login of "you"`},
		"enroot, second user":    {false, "", "machine " + host + " login you password OTHERSECRET machine " + host + " login me password SECRET", "me", 0, ""},
		"enroot after docker":    {false, docker(host, "you", "OTHERSECRET"), "machine " + host + " login me password SECRET", "me", 0, ""},
		"enroot, wrong form":     {false, "", "login me password SECRET machine", "", Denied, ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, shelf := opened(t), newShelf()
				n := shelf.put(t, "v1", simple(t))
				s.transport = inMemory{guard(shelf, test.tokens, "me", "SECRET")}
				folder := t.TempDir()
				s.credentials = credentials{docker: folder, enroot: filepath.Join(folder, ".credentials"), getenv: func(name string) string {
					return map[string]string{"NAME": "me", "PASSWORD": "SECRET"}[name]
				}}
				for file, text := range map[string]string{"config.json": test.docker, ".credentials": test.enroot} {
					if text == "" {
						continue
					}
					if err := os.WriteFile(filepath.Join(folder, file), []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				n.User = test.user
				_, err := s.Fetch(t.Context(), n, nil)
				if kindOf(err) != test.kind {
					t.Error(err)
				}
				if err != nil && (!strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "SECRET")) {
					t.Errorf("%v, want %q", err, test.says)
				}
			})
		})
	}
}

// The password for a host of tokens goes to that host only, whatever the registry asks for afterwards.
func TestCredentialsOfAnotherHost(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := opened(t)
		asked := 0
		s.transport = inMemory{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, _, is := r.BasicAuth(); is {
				t.Errorf("the password went to %s", r.URL)
			}
			asked++
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			if asked == 1 {
				w.Header().Set("WWW-Authenticate", `Bearer realm="https://auth.docker.io/token"`)
			}
			w.WriteHeader(http.StatusUnauthorized)
		})}
		s.credentials.enroot = written(t, "c", []byte("machine auth.docker.io login me password SECRET"))
		if _, err := s.Fetch(t.Context(), named(t, host+"#a/b"), nil); kindOf(err) != Denied || asked < 2 {
			t.Errorf("%v, %d requests", err, asked)
		}
	})
}

func TestNetrc(t *testing.T) {
	t.Parallel()
	lines := parseNetrc("# x\nmachine NVCR.io login $oauthtoken password \"k\" account z\ndefault login d password e\nmachine no.password login a\nmachine", func(string) string { return "" })
	for _, test := range []struct{ user, host, login string }{
		{"", "nvcr.io", "$oauthtoken"}, {"$oauthtoken", "nvcr.io", "$oauthtoken"}, {"", "other", "d"}, {"d", "nvcr.io", "d"}, {"x", "nvcr.io", ""}, {"", "no.password", "d"},
	} {
		found, is := lines.find(test.user, test.host).(*authn.Basic)
		if is != (test.login != "") || is && found.Username != test.login {
			t.Errorf("%+v: %+v", test, found)
		}
	}
}
