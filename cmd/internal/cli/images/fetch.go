package images

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/image/store"
)

func newResolve(folder *string) *cobra.Command {
	return &cobra.Command{
		Use: "resolve IMAGE", Short: "Print the name of an image with its digest", Args: cli.One("one argument, an image"), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := parse(args[0])
			if err != nil {
				return err
			}
			return run(*folder, func(s *store.Store) error {
				pinned, err := s.Resolve(cmd.Context(), n)
				if err != nil {
					return err
				}
				_, err = fmt.Fprintln(cmd.OutOrStdout(), pinned)
				return err
			})
		},
	}
}

// fetched is the line that image fetch prints.
type fetched struct {
	Digest string `json:"digest"`
	Root   string `json:"root"`
	Lock   string `json:"lock"`
	store.Config
}

func newFetch(folder *string) *cobra.Command {
	var quiet bool
	cmd := &cobra.Command{
		Use: "fetch IMAGE", Short: "Pull and unpack an image unless it is there, and print where it is as a line of JSON",
		Args: cli.One("one argument, an image"), Hidden: true,
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := parse(args[0])
			if err != nil {
				return err
			}
			lines := &progressLines{w: cmd.ErrOrStderr(), image: n.String()}
			show := lines.show
			if quiet {
				show = nil
			}
			return run(*folder, func(s *store.Store) error {
				image, err := s.Fetch(cmd.Context(), n, show)
				if err != nil {
					return err
				}
				out := fetched{image.Digest, image.Root, image.Lock, image.Config}
				for _, list := range []*[]string{&out.Env, &out.Entrypoint, &out.Cmd} {
					if *list == nil {
						*list = []string{}
					}
				}
				return json.NewEncoder(cmd.OutOrStdout()).Encode(out)
			})
		},
	}
	cmd.Flags().BoolVar(&quiet, "quiet", false, "print no progress")
	return cmd
}

// progressLines writes the progress of a fetch, each state once.
type progressLines struct {
	w     io.Writer
	image string
	last  string
}

func (p *progressLines) show(now store.Progress) {
	text := ""
	switch now.Phase {
	case store.Resolving:
		return
	case store.Waiting:
		text = "waits for another pull"
	case store.Pulling:
		text = part(now)
	case store.Unpacking:
		text = "unpacking"
		if now.Total > 0 {
			text += " " + part(now)
		}
	}
	if text == p.last {
		return
	}
	p.last = text
	fmt.Fprintf(p.w, "image %s: %s\n", p.image, text)
}

// part returns a progress such as 3.1 of 11.3 GB: both numbers have the unit of the whole.
func part(now store.Progress) string {
	whole := store.Size(now.Total)
	_, unit, _ := strings.Cut(whole, " ")
	bytes := map[string]float64{"B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12}[unit]
	if bytes == 1 {
		return fmt.Sprintf("%d of %s", now.Done, whole)
	}
	return fmt.Sprintf("%.1f of %s", float64(now.Done)/bytes, whole)
}
