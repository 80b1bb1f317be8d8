package config

import "strings"

// meant returns "; did you mean X?" if one of the words is similar enough.
func meant(word string, known []string) string {
	best, most := "", max(1, min((len(word)+2)/3, 4))
	for _, k := range known {
		if d := distance(word, k); d <= most {
			best, most = k, d-1
		}
	}
	if best == "" {
		return ""
	}
	return "; did you mean " + best + "?"
}

// distance returns how many letters must be inserted, removed or replaced to turn a into b.
func distance(a, b string) int {
	const longest = 64
	if len(a) > longest || len(b) > longest {
		return longest
	}
	a, b = strings.ToLower(a), strings.ToLower(b)
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := corner
			if a[i] != b[j] {
				change++
			}
			corner = row[j+1]
			row[j+1] = min(change, corner+1, row[j]+1)
		}
	}
	return row[len(b)]
}
