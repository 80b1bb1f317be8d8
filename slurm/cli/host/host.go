// Package host is what Slurm's programs are given by the program that carries them out.
package host

import (
	"context"
	"io"

	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// Host is the program that carries out Slurm's programs.
type Host struct {
	Version string                                               // of the program
	Dial    func(stderr io.Writer) (*client.Client, error)       // connects to the cluster of the environment; warnings go to stderr
	OwnName func() string                                        // returns the user that requests name; empty: their token names the user
	Me      func(ctx context.Context, api *client.Client) string // returns the user that the cluster takes this program for
	Shell   func(to map[string]string) (left []string)           // copies the variables that jobs get, and returns the names of the others
	Local   func(text string) string                             // returns a text with its instants in the time of this machine

	Stdin func(ctx context.Context, say io.Writer) (string, error) // returns the standard input for a job, as base64

	// Run runs a job that ends with this program.
	Run func(ctx context.Context, api *client.Client, r *wire.Submit, stdout, stderr io.Writer) error
}

// Dialer returns Dial with a place for warnings.
func (h *Host) Dialer(stderr io.Writer) func() (*client.Client, error) {
	return func() (*client.Client, error) { return h.Dial(stderr) }
}

// Slurm returns what Slurm's programs print with --version: the version of Slurm whose forms Berth's have, as programs that ask for the
// version expect it.
func (h *Host) Slurm() string { return "slurm 22.05.8 (berth " + h.Version + ")" }
