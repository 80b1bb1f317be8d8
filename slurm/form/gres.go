package form

import (
	"strconv"
	"strings"
)

// GPUs is a request for GPUs of one model.
type GPUs struct {
	Model   string // as it was written, such as a100 or nvidia_a100_80gb_pcie; empty: any
	Profile string // of a part of a divided GPU (MIG), such as 3g.20gb; empty: whole GPUs
	Count   int    // may be 0
}

// Words returns the words by which Berth finds the model, such as "nvidia a100 80gb pcie" or
// "a100 mig 3g.20gb"; empty: any model.
func (g GPUs) Words() string {
	words := strings.FieldsFunc(strings.ToLower(g.Model), func(r rune) bool { return r == '_' || r == '-' })
	if g.Profile != "" {
		words = append(words, "mig", strings.ToLower(g.Profile))
	}
	return strings.Join(words, " ")
}

// String returns the request as Slurm writes it: a100:4, or 4 without a model.
func (g GPUs) String() string {
	name := g.Model
	switch {
	case g.Model == "" && g.Profile == "":
		return strconv.Itoa(g.Count)
	case g.Model == "":
		name = g.Profile
	case g.Profile != "":
		name += "_" + g.Profile
	}
	return name + ":" + strconv.Itoa(g.Count)
}

const gpuForms = "is no number of GPUs: write N, or MODEL:N such as a100:4"

// ParseGPUs parses the value of --gpus, --gpus-per-node, --gpus-per-task and --gpus-per-socket: N, MODEL:N or
// MODEL, which stands for one. A job has GPUs of one model: a list of models is refused.
func ParseGPUs(text string) (GPUs, error) {
	if strings.Contains(text, ",") {
		return GPUs{}, bad(text, "asks for GPUs of several models; a job has one model: write one MODEL:N, or N for any")
	}
	model, count, both := strings.Cut(text, ":")
	if !both {
		count = "1"
		if _, err := digits(text[:min(1, len(text))]); err == nil && !strings.ContainsAny(text, "._-") {
			model, count = "", text
		}
	}
	n, err := gresCount(count)
	if err != nil || model == "" && (both || count != text) {
		return GPUs{}, bad(text, "%s", gpuForms)
	}
	return gpusOf(text, model, n)
}

// gpusOf divides a type of GPUs into model and profile.
func gpusOf(text, model string, count int) (GPUs, error) {
	g := GPUs{Model: model, Count: count}
	if strings.Trim(model, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-+") != "" || len(model) > 64 {
		return GPUs{}, bad(text, "has no valid model of GPUs: letters, digits and ._-+ only, at most 64")
	}
	before, last := "", model
	if at := strings.LastIndexAny(model, "_"); at >= 0 {
		before, last = model[:at], model[at+1:]
	}
	if isProfile(last) {
		g.Model, g.Profile = strings.TrimSuffix(strings.TrimSuffix(before, "mig"), "_"), last
	}
	return g, nil
}

// isProfile reports whether a word is the name of a MIG profile: 1g.5gb, 3g.20gb, 1g.10gb+me.
func isProfile(word string) bool {
	slices, memory, dotted := strings.Cut(strings.ToLower(word), ".")
	slices, isSlices := strings.CutSuffix(slices, "g")
	memory, _, _ = strings.Cut(memory, "+")
	memory, isMemory := strings.CutSuffix(memory, "gb")
	_, err := digits(slices)
	_, err2 := digits(memory)
	return dotted && isSlices && isMemory && err == nil && err2 == nil
}

// gresCount parses a number with the suffixes of generic resources.
func gresCount(text string) (int, error) {
	shift := 0
	if n := len(text); n > 1 {
		if at := strings.IndexByte("kmg", text[n-1]|0x20); at >= 0 {
			text, shift = text[:n-1], 10*(at+1)
		}
	}
	n, err := digits(text)
	if err != nil || n > MaxCount>>shift {
		return 0, errCount
	}
	return n << shift, nil
}

// Gres is the value of --gres.
type Gres struct {
	GPUs   GPUs
	HasGPU bool     // the list names GPUs, perhaps 0
	None   bool     // the value is "none": no resources at all
	Others []string // other resources, such as nvme:200, in the order of the list
}

// ParseGres parses a list of generic resources that commas join: gpu, gpu:N, gpu:MODEL or gpu:MODEL:N, with the
// sockets (S:0-1) after it, and others, such as nvme:200, which have no meaning to Berth. The prefixes gres/ and gres: of
// resources are accepted, and = in place of the last colon. Shared GPUs (mps, shard) are refused.
func ParseGres(text string) (Gres, error) {
	var all Gres
	if strings.EqualFold(text, "none") {
		return Gres{None: true}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		name := strings.TrimSpace(part)
		for _, prefix := range []string{"gres/", "gres:"} {
			name = strings.TrimPrefix(name, prefix)
		}
		if at := strings.Index(name, "(S:"); at >= 0 && strings.HasSuffix(name, ")") {
			name = name[:at]
		}
		kind, rest, more := strings.Cut(strings.Replace(name, "=", ":", 1), ":")
		switch {
		case kind == "":
			return Gres{}, bad(text, "has an empty resource; write gpu:N, or a list such as gpu:a100:4,nvme:200")
		case kind == "mps", kind == "shard":
			return Gres{}, bad(part, "asks for a share of a GPU; Berth gives whole GPUs and MIG parts: write gpu:N")
		case kind != "gpu":
			all.Others = append(all.Others, part)
			continue
		}
		if !more {
			rest = "1"
		}
		one, err := ParseGPUs(rest)
		if err != nil {
			return Gres{}, bad(text, "is no number of GPUs: write gpu:N or gpu:MODEL:N, such as gpu:a100:4")
		}
		if all.HasGPU {
			if one.Model != all.GPUs.Model || one.Profile != all.GPUs.Profile {
				return Gres{}, bad(text, "asks for GPUs of several models; a job has one model: write one gpu:MODEL:N, or gpu:N for any")
			}
			one.Count += all.GPUs.Count
		}
		all.GPUs, all.HasGPU = one, true
	}
	return all, nil
}
