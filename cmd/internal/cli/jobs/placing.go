package jobs

import (
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/fsm/model"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// placing holds the flags that choose nodes for a job.
type placing struct {
	constraint, nodelist, exclude, placement string
	minGPUs                                  int64
}

func (p *placing) bindPlacing(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringVarP(&p.constraint, "constraint", "C", "", "only on nodes with these `labels`: zone=a, zone!=a, ssd or !spot, joined by commas")
	f.StringVarP(&p.nodelist, "nodelist", "w", "", "only on these `nodes`: n1,n2 or n[1-4]")
	f.StringVarP(&p.exclude, "exclude", "x", "", "not on these `nodes`")
	f.Int64Var(&p.minGPUs, "min-gpus", 0, "take fewer GPUs if not all are available, but at least `N`; with --nodes whole nodes fewer")
	f.StringVar(&p.placement, "placement", "", "`strategy` to choose among suitable nodes: best_fit, spread, round_robin, least_loaded (default: see berth policy)")
}

// fillPlacing copies the flags into a submission.
func (p *placing) fillPlacing(cmd *cobra.Command, r *wire.Submit) error {
	if _, err := model.ParseConstraint(p.constraint); err != nil {
		return cli.Usage("--constraint %w", err)
	}
	r.Constraint, r.Placement, r.MinGPUs = p.constraint, p.placement, cli.Optional(cmd, "min-gpus", &p.minGPUs)
	for _, v := range []struct {
		flag, text string
		to         *[]string
	}{{"--nodelist", p.nodelist, &r.Nodelist}, {"--exclude", p.exclude, &r.Exclude}} {
		list, err := model.ParseNodes(v.text)
		if err != nil {
			return cli.Usage("%s %w", v.flag, err)
		}
		*v.to = list
	}
	return nil
}

// whereOf returns the nodes on which a job may run, in words; empty: any.
func whereOf(j *wire.Job) string {
	w := model.Where{Constraint: j.Constraint, Nodelist: strings.Join(j.Nodelist, ","), Exclude: strings.Join(j.Exclude, ",")}
	if text := w.String(); text != "" {
		return "nodes " + text
	}
	return ""
}

// gpusOf returns how many GPUs a job asks for, or has of them: "4 of 8".
func gpusOf(j *wire.Job) string {
	text := strconv.FormatInt(j.GPUs, 10)
	if has := len(j.AllocatedGPUs); has > 0 && int64(has) < j.GPUs {
		return strconv.Itoa(has) + " of " + text
	}
	return text
}
