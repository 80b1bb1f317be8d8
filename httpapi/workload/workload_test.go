package workload_test

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/berth-gpu/berth/httpapi/wire"
	"github.com/berth-gpu/berth/httpapi/workload"
)

func h100s() []workload.Kind {
	return []workload.Kind{{Model: "NVIDIA H100 80GB HBM3", MemoryMB: 81559, All: 16, Node: 8}}
}

func known(fleet []workload.Kind) *workload.Knowledge {
	return &workload.Knowledge{Fleet: fleet, Defaults: workload.StandardDefaults()}
}

func request(t *testing.T, body string) *wire.Workload {
	t.Helper()
	var w wire.Workload
	if err := json.Unmarshal([]byte(body), &w); err != nil {
		t.Fatal(err)
	}
	return &w
}

func analyze(t *testing.T, body string, k *workload.Knowledge) *wire.WorkloadPlan {
	t.Helper()
	p, err := workload.Analyze(request(t, body), k)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func says(p *wire.WorkloadPlan, words ...string) bool {
	text := strings.Join(p.Reasoning, "\n")
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// The numbers are reckoned by hand from the formulas.
func TestFormulas(t *testing.T) {
	for name, v := range map[string]struct {
		body     string
		gpus, mb int64
		fits     bool
		says     string
	}{
		// 7e9 × 16 B = 112e9 B on 2 GPUs, and a sequence of 2048 tokens: 34·32·4096 B a token, and
		// 4·32000 B of what the model says: 9.39e9 B. (56e9 + 9.39e9)·1.1 + 1 GiB = 69623 MiB.
		"training 7B": {`{"workload_type": "training", "workload_data": {"model_size": "medium"}}`, 2, 69632, true, "16 bytes a parameter"},
		// 10 B a parameter on one GPU: 70e9 B and a sequence do not fit, on two they do.
		"8-bit Adam": {`{"workload_type": "training", "workload_data": {"model_size": "medium", "optimizer": "adam-8bit"}}`, 2, 47616, true, "10 bytes a parameter"},
		// 13e9 × 2 B and 2·40·5120·4096·1·2 B of keys and values and 34·4096·5120 B: 30.07e9·1.1 + 1 GiB.
		"inference 13B": {`{"workload_type": "inference", "workload_data": {"model_size": "large"}}`, 1, 32768, true, "weights of 13B parameters in fp16"},
		"a quarter":     {`{"workload_type": "inference", "workload_data": {"model_size": "xl", "precision": "int4"}}`, 1, 55040, true, "in int4"},
		"embedding":     {`{"workload_type": "embedding", "workload_data": {"model_size": "medium"}}`, 1, 1792, true, "BERT base"},
		"a default":     {`{"workload_type": "ocr"}`, 1, 4096, true, "the default for ocr"},
		"a graph":       {`{"workload_type": "graph-processing", "workload_data": {"nodes": 1e7, "edges": 1e8, "feature_dim": 64}}`, 1, 21504, true, "100M edges"},
		"far too large": {`{"workload_type": "training", "workload_data": {"model_size": "9T"}}`, 16, 81559, false, "does not fit"},
	} {
		t.Run(name, func(t *testing.T) {
			p := analyze(t, v.body, known(h100s()))
			if p.GPUs != v.gpus || p.MemoryMB != v.mb || p.Fits != v.fits || !says(p, v.says) {
				t.Errorf("%d GPUs with %d MB, fits %t: %s", p.GPUs, p.MemoryMB, p.Fits, strings.Join(p.Reasoning, "\n"))
			}
		})
	}
}

// 6·7e9·1e9 operations on two GPUs at 30 % of 989·10¹² take 70,778 seconds.
func TestDuration(t *testing.T) {
	p := analyze(t, `{"workload_type": "training", "workload_data": {"model_size": "7B", "tokens": 1e9}}`, known(h100s()))
	if p.Duration != 70778 || p.Sources["estimated_duration_seconds"] != "formula" {
		t.Errorf("%g s from %s: %s", p.Duration, p.Sources["estimated_duration_seconds"], strings.Join(p.Reasoning, "\n"))
	}
	p = analyze(t, `{}`, known(nil))
	if p.Duration != 3600 || p.Sources["estimated_duration_seconds"] != "default" || p.Fits || p.Type != "generic" {
		t.Errorf("nothing known: %+v", p)
	}
}

// The fewest GPUs are taken, then the smallest that hold it; a wanted model is kept to.
func TestChoice(t *testing.T) {
	fleet := append(h100s(), workload.Kind{Model: "T4", MemoryMB: 15360, All: 32, Node: 4},
		workload.Kind{Model: "A40", MemoryMB: 46068, All: 8, Node: 8})
	for body, want := range map[string]string{
		`{"workload_type": "inference", "workload_data": {"model_size": "small"}}`:                   "T4",
		`{"workload_type": "inference", "workload_data": {"model_size": "13B"}}`:                     "A40",
		`{"workload_type": "inference", "workload_data": {"model_size": "13B"}, "gpu_type": "T4"}`:   "T4",
		`{"workload_type": "inference", "workload_data": {"model_size": "13B"}, "gpu_type": "GB10"}`: "GB10",
	} {
		if p := analyze(t, body, known(fleet)); p.GPUType != want || p.Fits != (want != "GB10") {
			t.Errorf("%s: %s, fits %t", body, p.GPUType, p.Fits)
		}
	}
}

// The GPUs that an answer names hold what it needs, from any source of that number.
func TestWhatIsSaidFitsTogether(t *testing.T) {
	const big = "NVIDIA H100 80GB HBM3"
	fleet := append(h100s(), workload.Kind{Model: "A40", MemoryMB: 46068, All: 32, Node: 8})
	const body = `{"service_name": "s", "workload_type": "inference", "workload_data": {"model_size": "13B", "tokens": 1e9}}`
	for name, v := range map[string]struct {
		past     []workload.Runs
		advice   string
		gpus     int64
		kind     string
		fits     bool
		duration float64
	}{
		"the formula":        {nil, `{}`, 1, "A40", true, 577777},
		"much memory used":   {[]workload.Runs{{GPUs: 1, Count: 5, PeakMB: 60000, Peaks: 5}}, `{}`, 1, big, true, 87630},
		"much memory said":   {nil, `{"memory_mb": 60000}`, 1, big, true, 87630},
		"more GPUs":          {nil, `{"gpu_count": 4}`, 4, "A40", true, 144444},
		"more than there is": {[]workload.Runs{{GPUs: 32, Count: 5, PeakMB: 60000, Peaks: 5}}, `{}`, 32, "A40", false, 18055},
	} {
		t.Run(name, func(t *testing.T) {
			k := known(fleet)
			k.Past, k.Advice = v.past, []workload.Advice{{Name: "a", Body: []byte(v.advice)}}
			if p := analyze(t, body, k); p.GPUs != v.gpus || p.GPUType != v.kind || p.Fits != v.fits || p.Duration != v.duration {
				t.Errorf("%d %s, fits %t, %g s: %s", p.GPUs, p.GPUType, p.Fits, p.Duration, strings.Join(p.Reasoning, "\n"))
			}
		})
	}
	k := known(h100s())
	k.Advice = []workload.Advice{{Name: "a", Body: []byte(`{"gpu_count": 1}`)}}
	if p := analyze(t, `{"workload_type": "training", "workload_data": {"model_size": "medium"}}`, k); p.GPUs != 1 || p.Fits {
		t.Errorf("too few GPUs were advised: fits %t: %s", p.Fits, strings.Join(p.Reasoning, "\n"))
	}
}

// A type of GPU is asked for by words, as everywhere.
func TestGPUTypesAreFoundByWords(t *testing.T) {
	p := analyze(t, `{"workload_type": "training", "workload_data": {"model_size": "7B"}, "gpu_type": "h100"}`, known(h100s()))
	if p.GPUType != "NVIDIA H100 80GB HBM3" || !p.Fits {
		t.Errorf("%s, fits %t", p.GPUType, p.Fits)
	}
	// 2·7e9·1e9 operations at 30 % of what a GPU does, 0.3·312·10¹² if it is not known.
	for gpu, seconds := range map[string]float64{"NVIDIA A10G": 666666, "NVIDIA A10": 373333, "NVIDIA RTX A1000": 149572, "NVIDIA A100-SXM4-40GB": 149572, "NVIDIA H100 PCIe": 61728} {
		p := analyze(t, `{"workload_type": "inference", "workload_data": {"model_size": "7B", "tokens": 1e9}}`,
			known([]workload.Kind{{Model: gpu, MemoryMB: 81920, All: 1, Node: 1}}))
		if p.Duration != seconds || says(p, "is not known") != (gpu == "NVIDIA RTX A1000") {
			t.Errorf("%s: %g s: %s", gpu, p.Duration, strings.Join(p.Reasoning, "\n"))
		}
	}
}

// Earlier runs count more than formulas, once there are three.
func TestHistory(t *testing.T) {
	k := known(h100s())
	const body = `{"service_name": "bert", "workload_type": "training", "workload_data": {"model_size": "7B"}}`
	k.Past = []workload.Runs{{GPUs: 4, Count: 2, PeakMB: 30000, Peaks: 2}}
	if p := analyze(t, body, k); p.GPUs != 2 || !says(p, "Only 2 earlier runs") {
		t.Errorf("two runs: %+v", p)
	}
	k.Past = append(k.Past, workload.Runs{GPUs: 8, Count: 12, Typical: 90 * time.Minute, PeakMB: 40000, Peaks: 11})
	p := analyze(t, body, k)
	if p.GPUs != 8 || p.MemoryMB != 44032 || p.Duration != 5400 || p.Sources["memory_mb"] != "history" || !says(p, "12 earlier runs", "11 of them") {
		t.Errorf("12 runs: %+v", p)
	}
	k.Past[1].PeakMB = 1 << 24
	if p := analyze(t, body, k); p.MemoryMB != 81559 {
		t.Errorf("a peak beyond all GPUs gives %d MB", p.MemoryMB)
	}
}

// Advice is taken within bounds and never more than that.
func TestAdvice(t *testing.T) {
	for name, v := range map[string]struct {
		advice   workload.Advice
		outcome  string
		gpus, mb int64
		priority int64
	}{
		"good":         {workload.Advice{Body: []byte(`{"gpu_count": 4, "memory_mb": 60000, "priority": 9, "reason": "x"}`)}, "taken", 4, 60000, 9},
		"huge":         {workload.Advice{Body: []byte(`{"gpu_count": 1e300, "memory_mb": 1e18, "priority": 1000000}`)}, "taken", 8, 81559, 10},
		"negative":     {workload.Advice{Body: []byte(`{"gpu_count": -4, "memory_mb": 0, "priority": 0.2}`)}, "overruled", 2, 69632, 5},
		"partly":       {workload.Advice{Body: []byte(`{"gpu_count": -4, "priority": 2}`)}, "taken", 2, 69632, 2},
		"reasoned":     {workload.Advice{Body: []byte(`{"priority": 2, "reason": ["a", "b"]}`)}, "taken", 2, 69632, 2},
		"of a kind":    {workload.Advice{Body: []byte(`{"gpu_count": "many"}`)}, "useless", 2, 69632, 5},
		"of a list":    {workload.Advice{Body: []byte(`[1]`)}, "useless", 2, 69632, 5},
		"of nothing":   {workload.Advice{Body: []byte(`{"answer": 42}`)}, "useless", 2, 69632, 5},
		"that is late": {workload.Advice{Failure: "no answer within 2s"}, "failed", 2, 69632, 5},
		"let be":       {workload.Advice{Failure: "let be", Skipped: true}, "skipped", 2, 69632, 5},
	} {
		t.Run(name, func(t *testing.T) {
			k := known(h100s())
			v.advice.Name = "deepagents"
			k.Advice = []workload.Advice{v.advice}
			p := analyze(t, `{"workload_type": "training", "workload_data": {"model_size": "medium"}}`, k)
			if len(p.Advisers) != 1 || p.Advisers[0].Outcome != v.outcome || p.GPUs != v.gpus || p.MemoryMB != v.mb || p.Priority != v.priority {
				t.Errorf("%d GPUs, %d MB, priority %d, %+v", p.GPUs, p.MemoryMB, p.Priority, p.Advisers)
			}
			if taken := p.Sources["priority"] == "deepagents"; taken != (v.priority != 5) {
				t.Errorf("sources are %v", p.Sources)
			}
		})
	}
}

// What is known of earlier runs, or was said by one adviser, another does not change.
func TestWhoseAdviceIsTaken(t *testing.T) {
	k := known(h100s())
	k.Past = []workload.Runs{{GPUs: 2, Count: 5, PeakMB: 10000, Peaks: 5}}
	k.Advice = []workload.Advice{
		{Name: "deepagents", Body: []byte(`{"memory_mb": 50000, "priority": 3}`)},
		{Name: "graph_service", Body: []byte(`{"priority": 8, "gpu_count": 1}`)},
	}
	p := analyze(t, `{"service_name": "s", "workload_type": "training", "workload_data": {"model_size": "medium"}}`, k)
	if p.MemoryMB != 11008 || p.Priority != 3 || p.GPUs != 1 || p.Sources["gpu_count"] != "graph_service" {
		t.Errorf("%+v", p)
	}
}

func TestRefusals(t *testing.T) {
	for body, field := range map[string]string{
		`{"workload_type": "dancing"}`:                               "workload_type",
		`{"service_name": "a\nb"}`:                                   "service_name",
		`{"workload_data": {"model_size": "huge"}}`:                  "workload_data.model_size",
		`{"workload_data": {"model_size": "1e99B"}}`:                 "workload_data.model_size",
		`{"workload_data": {"model_size": -7}}`:                      "workload_data.model_size",
		`{"workload_data": {"model_size": "NaN"}}`:                   "workload_data.model_size",
		`{"workload_data": {"model_size": "7B", "parameters": 8e9}}`: "workload_data.parameters",
		`{"workload_data": {"batch_size": 0}}`:                       "workload_data.batch_size",
		`{"workload_data": {"batch_size": "8"}}`:                     "workload_data.batch_size",
		`{"workload_data": {"precision": "fp7"}}`:                    "workload_data.precision",
		`{"workload_data": {"optimizer": true}}`:                     "workload_data.optimizer",
		`{"workload_data": {"sequence_length": 1e300}}`:              "workload_data.sequence_length",
		`{"gpu_type": "` + strings.Repeat("x", 200) + `"}`:           "gpu_type",
		`{"workload_data": {"activation_checkpointing": "yes"}}`:     "workload_data.activation_checkpointing",
	} {
		err := workload.Check(request(t, body))
		if e, is := err.(*workload.Error); !is || e.Field != field || e.Error() == "" { //nolint:errorlint // it is returned as it is
			t.Errorf("%s: %v, want one about %s", body, err, field)
		}
	}
	p := analyze(t, `{"workload_data": {"colour": "red", "Batch_Size": 3, "model_size": null}}`, known(h100s()))
	if len(p.Ignored) != 2 || !says(p, "2 fields of workload_data") {
		t.Errorf("ignored %v", p.Ignored)
	}
}

// Whatever is asked, the answer stays within the cluster and within bounds.
func TestBounds(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var fleet []workload.Kind
		for range rapid.IntRange(0, 3).Draw(t, "kinds") {
			all := rapid.Int64Range(1, 5000).Draw(t, "all")
			fleet = append(fleet, workload.Kind{
				Model: rapid.SampledFrom([]string{"H100", "T4", "x"}).Draw(t, "model"), MemoryMB: rapid.Int64Range(1, 300000).Draw(t, "memory"),
				All: all, Node: rapid.Int64Range(1, min(all, 16)).Draw(t, "node"),
			})
		}
		num := func(name string, most float64) any { return rapid.Float64Range(1, most).Draw(t, name) }
		w := &wire.Workload{
			ServiceName: "s", Type: rapid.SampledFrom(workload.Types()).Draw(t, "type"),
			Data: map[string]any{
				"model_size": rapid.Float64Range(1e5, 1e13).Draw(t, "parameters"), "batch_size": num("batch", 1e6),
				"sequence_length": num("sequence", 1e8), "tokens": num("tokens", 1e18), "nodes": num("nodes", 1e14),
				"precision": rapid.SampledFrom([]string{"fp32", "bf16", "int4"}).Draw(t, "precision"),
			},
		}
		k := known(fleet)
		k.Past = []workload.Runs{{
			GPUs: rapid.Int64Range(1, 1<<32).Draw(t, "gpus"), Count: rapid.Int64Range(0, 9).Draw(t, "runs"),
			PeakMB: rapid.Int64Range(0, 1<<24).Draw(t, "peak"), Peaks: 3, Typical: time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "typical")),
		}}
		k.Advice = []workload.Advice{{Name: "a", Body: rapid.SampledFrom([][]byte{[]byte(`{"gpu_count":1e308,"memory_mb":1e-9}`), []byte(`{}`), nil}).Draw(t, "advice")}}
		p, err := workload.Analyze(w, k)
		if err != nil {
			t.Fatal(err)
		}
		most := int64(1024)
		memory := int64(80 * 1024)
		if len(fleet) > 0 {
			most, memory = 0, 0
			for _, f := range fleet {
				most, memory = max(most, f.All), max(memory, f.MemoryMB)
			}
		}
		if p.GPUs < 1 || p.GPUs > most || p.MemoryMB < 1 || p.MemoryMB > memory || p.Priority < 1 || p.Priority > 10 || p.Duration < 1 ||
			len(p.Sources) != 4 {
			t.Fatalf("%+v of %+v", p, fleet)
		}
	})
}

func TestReadDefaults(t *testing.T) {
	d, err := workload.ReadDefaults([]byte("workload_defaults:\n  inference:\n    default_memory_mb: 4096\n    default_priority: 7\n"))
	if err != nil || !reflect.DeepEqual(d["inference"].Given(), workload.Default{MemoryMB: 4096, Priority: 7}) || d["inference"].GPUs != 1 || d["training"].MemoryMB != 16384 {
		t.Errorf("%+v %v", d, err)
	}
	if d, err = workload.ReadDefaults(nil); err != nil || len(d) != len(workload.Types()) {
		t.Errorf("%+v %v", d, err)
	}
	for text, want := range map[string]string{
		"inference: 3":                             "line 1",
		"a: {gpus: 1}":                             "line 1: there is no type",
		"ocr:\n  default_memory: 4":                "line 2: there is no setting",
		"ocr:\n  gpus: 0":                          "line 2: gpus must be",
		"ocr:\n  gpus: 1.5":                        "line 2: gpus must be",
		"ocr:\n  gpus: 1\n  gpus: 2":               "line 3",
		"ocr:\n  gpus: 1\nocr:\n  gpus: 2":         "line 3",
		"ocr: {gpus: 99999999999999999999}":        "line 1",
		"- 1":                                      "line 1",
		"ocr: {gpus: 1}\n---\nocr: {gpus: 1}":      "one document",
		"\tocr":                                    "",
		"graph-processing: {default_priority: 11}": "from 1 to 10",
	} {
		if _, err := workload.ReadDefaults([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", text, err)
		}
	}
	// All that is wrong is told, by its line.
	_, err = workload.ReadDefaults([]byte("ocr:\n  gpus: 0\n  colour: 1\n  default_priority: 11\nsinging: {gpus: 1}\ntraining: 3\nocr: {gpus: 0}\n"))
	var lines []string
	for line := range strings.Lines(fmt.Sprint(err)) {
		at, _, _ := strings.Cut(line, ":")
		lines = append(lines, at)
	}
	if want := []string{"line 2", "line 3", "line 4", "line 5", "line 6", "line 7"}; !slices.Equal(lines, want) {
		t.Errorf("it says %v", err)
	}
}
