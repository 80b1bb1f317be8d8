package store

import (
	"context"
	"errors"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"

	"github.com/docker/cli/cli/config"
	"github.com/google/go-containerregistry/pkg/authn"
	registry "github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/berth-gpu/berth/image/name"
)

// credentials are the places of logins for registries.
type credentials struct {
	docker string                   // folder with docker's config.json
	enroot string                   // enroot's file
	getenv func(name string) string // for variables in enroot's file
}

// usersCredentials returns the places of the logins of this process's user.
func usersCredentials() credentials {
	home, err := os.UserHomeDir()
	if err != nil {
		home = "/nonexistent" // docker's and enroot's variables may still name places
	}
	docker, enroot := os.Getenv("DOCKER_CONFIG"), os.Getenv("ENROOT_CONFIG_PATH")
	if docker == "" {
		docker = filepath.Join(home, ".docker")
	}
	if enroot == "" {
		base := os.Getenv("XDG_CONFIG_HOME")
		if base == "" {
			base = filepath.Join(home, ".config")
		}
		enroot = filepath.Join(base, "enroot")
	}
	return credentials{docker: docker, enroot: filepath.Join(enroot, ".credentials"), getenv: os.Getenv}
}

// dockerHubKey is the name of Docker Hub in docker's config.json.
const dockerHubKey = "https://index.docker.io/v1/"

// login is a login for a registry.
type login struct {
	authn.Authenticator

	host string // the only host that may get the password; empty: the registry, and the host that it names for its tokens
}

// find returns the login for the registry of an image: the one of docker's config.json, or else of enroot's file, where
// the registry may also stand under the host of its tokens, as in enroot. A user in the name chooses among them. Without
// a login the registry is asked as any caller.
func (c credentials) find(ctx context.Context, n name.Name, r registry.Registry, t http.RoundTripper) (login, error) {
	found, err := c.ofDocker(n)
	if err != nil || found != nil {
		return login{Authenticator: found}, err
	}
	lines, err := c.ofEnroot()
	if err != nil {
		return login{}, err
	}
	if found := lines.find(n.User, n.Registry); found != nil {
		return login{Authenticator: found}, nil
	}
	if len(lines) > 0 {
		if host := tokenHost(ctx, r, t); host != "" {
			if found := lines.find(n.User, host); found != nil {
				return login{found, host}, nil
			}
		}
	}
	if n.User != "" {
		return login{}, failed(Denied, "run docker login "+n.Registry+", or add a line to "+c.enroot+": machine "+n.Registry+" login "+n.User+" password ...",
			"no login of %q for %s is known", n.User, n.Registry)
	}
	return login{Authenticator: authn.Anonymous}, nil
}

// ofDocker returns the login of docker's config.json, nil without one. Programs that keep logins for docker are asked.
func (c credentials) ofDocker(n name.Name) (authn.Authenticator, error) {
	file := filepath.Join(c.docker, "config.json")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	all, err := config.Load(c.docker)
	if err != nil {
		return nil, failed(Denied, "correct the file, or remove it", "docker's file of logins %s cannot be read", file)
	}
	keys := []string{n.Registry}
	if n.Registry == name.DockerHub {
		keys = []string{dockerHubKey, "docker.io", n.Registry}
	}
	for _, key := range keys {
		found, err := all.GetAuthConfig(key)
		if err != nil {
			return nil, failed(Denied, "run docker login "+n.Registry+" again", "the program that keeps the login for %s, as %s has it, failed", n.Registry, file)
		}
		if found.Username == "" && found.Password == "" && found.Auth == "" && found.IdentityToken == "" && found.RegistryToken == "" {
			continue
		}
		if n.User != "" && found.Username != n.User {
			continue
		}
		return authn.FromConfig(authn.AuthConfig{
			Username: found.Username, Password: found.Password, Auth: found.Auth,
			IdentityToken: found.IdentityToken, RegistryToken: found.RegistryToken,
		}), nil
	}
	return nil, nil
}

// tokenHost returns the host at which a registry hands out tokens, or "" if it has none or does not answer.
func tokenHost(ctx context.Context, r registry.Registry, t http.RoundTripper) string {
	challenge, err := transport.Ping(ctx, r, t)
	if err != nil {
		return ""
	}
	realm, err := url.Parse(challenge.Parameters["realm"])
	if err != nil {
		return ""
	}
	return realm.Host
}
