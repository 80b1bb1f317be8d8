// Package images has the commands about container images on this machine: which there are, and, for the programs that start
// jobs, to which digest a name leads and where the unpacked image is.
package images

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/image/name"
	"github.com/berth-gpu/berth/image/store"
)

// folderVariable names the folder of images in the environment.
const folderVariable = "BERTH_IMAGES"

const long = `Container images of jobs on this machine, as sbatch --container-image names them.

Each user has a folder of images: --folder, or BERTH_IMAGES, or ~/.cache/berth/images.
docs/images.md describes names, logins for registries, and when images are removed.`

// New returns the command berth image.
func New() *cobra.Command {
	var folder string
	cmd := cli.Parent("image", "List and remove the container images of jobs on this machine", long,
		newList(&folder), newRemove(&folder), newResolve(&folder), newFetch(&folder))
	cmd.PersistentFlags().StringVar(&folder, "folder", "", "the `folder` of images; without it BERTH_IMAGES, or ~/.cache/berth/images")
	return cmd
}

// open returns the store in the folder of a command line.
func open(folder string) (*store.Store, error) {
	if folder = cmp.Or(folder, os.Getenv(folderVariable)); folder == "" {
		base := os.Getenv("XDG_CACHE_HOME")
		if !filepath.IsAbs(base) { // as its specification has it
			home, err := os.UserHomeDir()
			if err != nil {
				return nil, cmdline.Usage("the folder of images is not known, as there is no home: give --folder, or set %s", folderVariable)
			}
			base = filepath.Join(home, ".cache")
		}
		folder = filepath.Join(base, "berth", "images")
	}
	return store.Open(folder)
}

// run carries out a command on the store in a folder.
func run(folder string, what func(*store.Store) error) error {
	s, err := open(folder)
	if err != nil {
		return err
	}
	return withCode(errors.Join(what(s), s.Close()))
}

// withCode gives an error of the store the exit code of its kind: 3 for an image that does not exist, 4 without a right to
// it, 5 where the same may succeed later or on another node, 1 for all else.
func withCode(err error) error {
	e, is := errors.AsType[*store.Error](err)
	if !is {
		return err
	}
	switch e.Kind {
	case store.NotFound:
		return cmdline.WithCode(cmdline.ExitNotFound, err)
	case store.Denied:
		return cmdline.WithCode(cmdline.ExitDenied, err)
	case store.Unreachable, store.Busy, store.Damaged, store.Full, store.Local:
		return cmdline.WithCode(cmdline.ExitUnreachable, err)
	case store.Platform, store.BadFile, store.BadImage:
	}
	return err
}

// parse returns the image that an argument names.
func parse(text string) (name.Name, error) {
	n, err := name.Parse(text)
	if err != nil {
		return name.Name{}, cmdline.Usage("%w", err)
	}
	return n, nil
}

func newList(folder *string) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use: "list", Short: "List the images of this user on this machine", Args: cli.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if output != "" && output != "json" {
				return cmdline.Usage("-o %s: must be json or left out", output)
			}
			return run(*folder, func(s *store.Store) error {
				all, err := s.List()
				if err != nil {
					return err
				}
				if output == "json" {
					e := json.NewEncoder(cmd.OutOrStdout())
					e.SetIndent("", "  ")
					return e.Encode(all)
				}
				t := table.New("IMAGE", "SIZE", "PULLED", "LAST USED", "KEY")
				for _, e := range all {
					used := day(e.Used)
					if e.InUse {
						used = "now"
					}
					t.Add(e.Name, store.Size(e.Bytes), day(e.Pulled), used, e.Key[:store.ShortKey])
				}
				_, err = t.WriteTo(cmd.OutOrStdout())
				return err
			})
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "`format` of the output: json, or left out for a table")
	return cmd
}

func day(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.Local().Format(time.DateTime)
}

func newRemove(folder *string) *cobra.Command {
	return &cobra.Command{
		Use: "remove IMAGE...", Short: "Remove images that no job uses",
		Long:    "Remove images that no job uses. An image is named as it was pulled, with or without its digest, or by its key.",
		Example: "  berth image remove nvcr.io#nvidia/pytorch:24.01-py3",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmdline.Usage("%s takes at least one image; see %s --help", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return run(*folder, func(s *store.Store) error {
				var failed []error
				for _, text := range args {
					gone, err := s.Remove(text)
					for _, e := range gone {
						fmt.Fprintf(cmd.OutOrStdout(), "%s was removed: %s\n", e.Name, store.Size(e.Bytes))
					}
					failed = append(failed, err)
				}
				return errors.Join(failed...)
			})
		},
	}
}
