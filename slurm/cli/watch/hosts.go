package watch

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/berth-gpu/berth/slurm/cli/words"
	"github.com/berth-gpu/berth/slurm/hostlist"
)

// hosts prints a list of nodes: hostnames one a line, hostlist compressed, hostlistsorted also sorted. It asks no peer.
func (p *program) hosts(entity string, args []string) error {
	list := strings.Join(args, ",")
	if list == "" && entity == "hostnames" {
		list = os.Getenv("SLURM_JOB_NODELIST")
		if list == "" {
			list = os.Getenv("SLURM_NODELIST")
		}
	}
	if strings.HasPrefix(list, "/") {
		text, err := os.ReadFile(list) //nolint:gosec // a file of the user's
		if err != nil {
			return err
		}
		list = strings.Join(strings.Fields(string(text)), ",")
	}
	if list == "" {
		return errors.New("host list is empty")
	}
	names, err := hostlist.Expand(list)
	if err != nil {
		return err
	}
	switch entity {
	case "hostnames":
		for _, name := range names {
			if _, err := fmt.Fprintln(p.out, name); err != nil {
				return err
			}
		}
		return nil
	case "hostlistsorted":
		slices.SortStableFunc(names, words.ByNumber)
	}
	_, err = fmt.Fprintln(p.out, hostlist.Compress(names))
	return err
}
