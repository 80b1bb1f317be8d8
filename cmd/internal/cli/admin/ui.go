package admin

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/files/private"
	"github.com/berth-gpu/berth/fsm/model/session"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/endpoint"
)

const uiLong = `Open the page of the cluster in a browser, signed in as you.

The address is printed. Where there is a browser it is opened, too. With authentication the
address contains a one-time code, which is good once and for a minute. The browser gets it in a
file that only you can read, and not as an argument, which all users of the machine can read.`

func newUI() *cobra.Command {
	c, printOnly := &cli.Connection{}, false
	cmd := &cobra.Command{
		Use: "ui", Short: "Open the page of the cluster in a browser, signed in", Long: uiLong, Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			api, err := c.Dial()
			if err != nil {
				return err
			}
			page, err := pageOf(cmd.Context(), api)
			if err != nil {
				return err
			}
			if _, err := fmt.Fprintln(cmd.OutOrStdout(), page); err != nil {
				return err
			}
			if strings.Contains(page, withCode) {
				fmt.Fprintln(cmd.ErrOrStderr(), "The address signs in once, within a minute.")
			}
			program := browser(os.Getenv)
			if printOnly || program == "" {
				return nil
			}
			if err := show(program, page); err != nil {
				fmt.Fprintf(cmd.ErrOrStderr(), "berth: no browser was opened: %v; open the address by hand\n", err)
			}
			return nil
		},
	}
	c.Bind(cmd)
	cmd.Flags().BoolVar(&printOnly, "no-open", false, "only print the address")
	return cmd
}

// pageOf returns the address of the page, which signs in as the caller if that is needed.
func pageOf(ctx context.Context, api *client.Client) (string, error) {
	people := client.PeopleOf(api)
	me, err := people.Whoami(ctx)
	if err != nil {
		return "", err
	}
	peers, err := api.Peers(ctx)
	if err != nil {
		return "", err
	}
	page, err := pageAt(api.Address())
	if err != nil {
		return "", err
	}
	for _, p := range peers.Peers {
		if public, err := url.Parse(p.PublicURL); err == nil && p.Self && public.Host != "" {
			page.Scheme, page.Host = public.Scheme, public.Host
		}
	}
	if !me.Authentication {
		return page.String(), nil
	}
	code, err := people.MakeCode(ctx)
	if err != nil {
		return "", err
	}
	page.Path, page.Fragment = "/ui/login", "code="+code.Code
	return page.String(), nil
}

// pageAt returns the address of the page at a peer: peers are reached without TLS on loopback addresses only.
func pageAt(address string) (*url.URL, error) {
	page, err := endpoint.URL(address, "/ui/")
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(page.Hostname()); page.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		page.Scheme = "https"
	}
	return page, nil
}

// withCode is in addresses that sign in.
const withCode = "#code="

// show opens a page with a program.
func show(program, page string) error {
	if strings.Contains(page, withCode) {
		file, err := redirectFile(page)
		if err != nil {
			return err
		}
		page = file
	}
	return exec.Command(program, page).Start() //nolint:gosec,noctx // the browser outlives this command
}

// redirectFile writes a file that redirects a browser to a page, readable for the caller only, and returns its path. Files whose code has
// expired are removed.
func redirectFile(page string) (path string, err error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	folder := filepath.Join(cache, "berth")
	if _, err := private.Folder(folder); err != nil {
		return "", err
	}
	old, _ := filepath.Glob(filepath.Join(folder, redirects)) // the pattern is valid
	for _, one := range old {
		if info, err := os.Lstat(one); err == nil && time.Since(info.ModTime()) > session.Brief {
			_ = os.Remove(one) // its code is good for nothing
		}
	}
	f, err := os.CreateTemp(folder, redirects)
	if err != nil {
		return "", err
	}
	_, err = fmt.Fprintf(f, "<!doctype html><meta charset=\"utf-8\"><meta name=\"referrer\" content=\"no-referrer\"><title>Berth</title><meta http-equiv=\"refresh\" content=\"0; url=%s\">\n",
		html.EscapeString(page))
	return f.Name(), errors.Join(err, f.Close())
}

// redirects is the pattern of the names of these files.
const redirects = "ui-*.html"

// browser returns the program that opens an address in the user's browser; empty: there is no browser, as without a screen.
func browser(variable func(string) string) string {
	name := "xdg-open"
	switch {
	case runtime.GOOS == "darwin":
		name = "open"
	case variable("DISPLAY") == "" && variable("WAYLAND_DISPLAY") == "":
		return ""
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}
