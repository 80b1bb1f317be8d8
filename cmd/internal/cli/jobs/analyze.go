package jobs

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/table"
	"github.com/berth-gpu/berth/httpapi/client"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
	"github.com/berth-gpu/berth/httpapi/wire"
)

const analyzeLong = `Estimate how many GPUs a workload needs, with how much memory, for how long, and why.

TYPE is training, inference, embedding, ocr, graph_processing or generic. Values that are
not given have defaults; earlier runs of jobs with the name have precedence over formulas.`

// analyzeFlags are the flags that describe the workload.
type analyzeFlags struct {
	name, user, gpu            string
	size, precision, optimizer string
	batch, sequence, tokens    float64
}

func newAnalyze() *cobra.Command {
	c, f := &cli.Connection{}, &analyzeFlags{}
	cmd := &cobra.Command{
		Use:     "analyze [TYPE]",
		Short:   "Estimate the GPUs that a workload needs",
		Long:    analyzeLong,
		Example: "  berth analyze training --size 7B --batch 128 --tokens 1e9\n  berth analyze inference --size large --precision int8 -J llama",
		Args:    cobra.MaximumNArgs(1),
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		body, err := f.body(strings.Join(args, ""))
		if err != nil {
			return err
		}
		ask := func(ctx context.Context, api *client.Client) (*wire.WorkloadPlan, error) {
			return api.Lists().Analyze(ctx, body)
		}
		return cli.Reading(c, ask, showAnalysis)(cmd, nil)
	}
	c.BindReading(cmd)
	to := cmd.Flags()
	to.StringVarP(&f.name, "name", "J", "", "`name` of the service, or of jobs like it that have run before")
	to.StringVarP(&f.user, "user", "u", "", "only this `user`'s earlier runs count")
	to.StringVar(&f.gpu, "gpu-type", "", "only this `model` of GPU")
	to.StringVar(&f.size, "size", "", "of the model: small, medium, large, xl or parameters such as `7B`")
	to.StringVar(&f.precision, "precision", "", "fp32, tf32, fp16, bf16, fp8, int8 or int4")
	to.StringVar(&f.optimizer, "optimizer", "", "adam, adamw, adam8bit, momentum, sgd or adafactor")
	to.Float64Var(&f.batch, "batch", 0, "samples of a step, or requests at once")
	to.Float64Var(&f.sequence, "sequence", 0, "tokens of a sample")
	to.Float64Var(&f.tokens, "tokens", 0, "tokens to be processed in all")
	return cmd
}

func (f *analyzeFlags) body(kind string) (*wire.Workload, error) {
	out := &wire.Workload{ServiceName: f.name, Type: kind, User: f.user, GPU: f.gpu, Data: map[string]any{}}
	for name, v := range map[string]string{"model_size": f.size, "precision": f.precision, "optimizer": f.optimizer} {
		if v != "" {
			out.Data[name] = v
		}
	}
	for name, v := range map[string]float64{"batch_size": f.batch, "sequence_length": f.sequence, "tokens": f.tokens} {
		if v < 0 {
			return nil, cmdline.Usage("%s must not be negative", strings.ReplaceAll(name, "_", " "))
		}
		if v > 0 {
			out.Data[name] = v
		}
	}
	return out, nil
}

func showAnalysis(w io.Writer, p *wire.WorkloadPlan) error {
	t := table.New("", "", "FROM")
	of := ""
	if p.GPUType != "" {
		of = " " + p.GPUType
	}
	t.Add("GPUs", strconv.FormatInt(p.GPUs, 10)+of, p.Sources["gpu_count"])
	t.Add("Memory", fmt.Sprintf("%d MB of each (%.1f GB)", p.MemoryMB, p.MemoryGB), p.Sources["memory_mb"])
	t.Add("Duration", table.Span(cli.OfSeconds(p.Duration).Round(time.Second)), p.Sources["estimated_duration_seconds"])
	t.Add("Priority", strconv.FormatInt(p.Priority, 10), p.Sources["priority"])
	if !p.Fits {
		t.Add("Fits", "no", "")
	}
	if _, err := t.WriteTo(w); err != nil {
		return err
	}
	fmt.Fprintln(w)
	for _, line := range p.Reasoning {
		fmt.Fprintln(w, "  - "+line)
	}
	for _, a := range p.Advisers {
		fmt.Fprintf(w, "  - %s: %s %s\n", a.Name, a.Outcome, a.Detail)
	}
	return nil
}
