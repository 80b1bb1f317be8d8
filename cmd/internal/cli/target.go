package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/berth-gpu/berth/httpapi/endpoint"
)

// Target is the cluster of a command, for berth doctor.
type Target struct {
	Login     string // name of the stored cluster; empty: none
	Addresses []string
	Dial      Dial
	Plain     bool // without encryption
	Socket    bool // by the socket of a peer on this machine
	Token     bool // requests carry one

	secret string
}

// targetLimit bounds the wait for one answer.
const targetLimit = 15 * time.Second

// Get returns the answer of a peer to a path, as it is. That a peer is unable is an answer, too: the
// reason is in its text. A refusal is an error.
func (t *Target) Get(ctx context.Context, path string) (string, error) {
	var last error
	for _, address := range t.Addresses {
		text, err := t.ask(ctx, address, path)
		if err == nil {
			return text, nil
		}
		last = err
	}
	return "", fmt.Errorf("no peer answers: %w", last)
}

func (t *Target) ask(ctx context.Context, address, path string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, targetLimit)
	defer cancel()
	to, err := endpoint.URL(address, path)
	if err != nil {
		return "", err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, to.String(), nil)
	if err != nil {
		return "", err
	}
	if t.secret != "" {
		r.Header.Set("Authorization", "Bearer "+t.secret)
	}
	web := &http.Client{
		Transport:     &http.Transport{DialContext: t.Dial, DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	answer, err := web.Do(r)
	if err != nil {
		return "", endpoint.Plainly(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(answer.Body, mostAnswer))
	if answer.StatusCode >= http.StatusMultipleChoices && answer.StatusCode < http.StatusInternalServerError {
		return "", fmt.Errorf("%s answers %s: %s", address, answer.Status, strings.TrimSpace(string(text)))
	}
	return string(text), err
}

// mostAnswer bounds an answer, in bytes.
const mostAnswer = 64 << 20

// Secret returns the token that requests carry, so that it can be kept out of texts; empty: there is none.
func (c *Connection) Secret() string {
	to, err := c.resolve()
	if err != nil {
		return ""
	}
	return to.token
}

// Target returns the cluster that the flags, the environment, the user's file or the user's login name. Nothing is sent yet.
func (c *Connection) Target() (*Target, error) {
	to, err := c.resolve()
	if err != nil {
		return nil, err
	}
	return &Target{
		Login: to.login, Addresses: to.addresses, Dial: to.dial, Plain: to.plain, Socket: to.socket, Token: to.token != "",
		secret: to.token,
	}, nil
}
