package config

import "github.com/berth-gpu/berth/slurm/nearest"

// meant returns "; did you mean X?" if one of the words is similar enough.
func meant(word string, known []string) string {
	best := nearest.Word(word, known, max(1, min((len(word)+2)/3, 4)))
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}
