package devcluster

import (
	"context"
	"errors"
	"net/http"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// firstToken finds the token that a peer prints when a cluster has authentication and no token yet.
var firstToken = regexp.MustCompile(`BERTH_TOKEN=(berth_\S+)`)

// Token returns the token of an admin of a cluster with authentication, under which the cluster's own client asks; empty: there is none.
func (c *Cluster) Token() string {
	c.token.Lock()
	defer c.token.Unlock()
	return c.conf.Token
}

// signIn makes a token of an admin by the first token of the cluster, once a peer has printed that, or takes the one that an earlier run in
// this folder has made.
func (c *Cluster) signIn(ctx context.Context) error {
	kept := filepath.Join(c.conf.Data, "token")
	if text, err := os.ReadFile(kept); err == nil { //nolint:gosec // a file of this cluster
		c.take(strings.TrimSpace(string(text)))
		return nil
	}
	for _, m := range c.Members() {
		text, err := os.ReadFile(m.Log)
		found := firstToken.FindSubmatch(text)
		if err != nil || found == nil {
			continue
		}
		api, err := client.New(client.Options{Addresses: c.Addresses(), UserAgent: "berth-dev", Token: string(found[1])})
		if err != nil {
			return err
		}
		made, err := client.PeopleOf(api).MakeToken(ctx, &wire.MakeToken{User: userName(), Role: "admin", Name: "berth dev"})
		if err != nil {
			return err
		}
		if err := os.WriteFile(kept, []byte(made.Secret+"\n"), 0o600); err != nil {
			return err
		}
		c.take(made.Secret)
		return nil
	}
	return nil
}

func (c *Cluster) take(token string) {
	c.token.Lock()
	defer c.token.Unlock()
	c.conf.Token = token
}

// userName returns the name of this process's user, as the name of the cluster's first admin.
func userName() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return "admin"
}

// asksForToken reports whether an error is that a cluster has authentication and the request showed no token that counts.
func asksForToken(err error) bool {
	p, is := errors.AsType[*wire.Problem](err)
	return is && p.Status == http.StatusUnauthorized
}
