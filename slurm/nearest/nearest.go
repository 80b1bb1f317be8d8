// Package nearest finds the word that was probably meant by one that is not known.
//
//berth:single
package nearest

import "strings"

// longest is the length from which on words are not compared, in bytes.
const longest = 64

// Word returns the known word that differs least from a word, the first of several; empty: all differ in more than most letters.
// Upper and lower case count as the same.
func Word(word string, known []string, most int) string {
	best := ""
	for _, k := range known {
		if d := distance(word, k); d <= most {
			best, most = k, d-1
		}
	}
	return best
}

// distance returns how many letters must be inserted, removed or replaced to turn a into b (Levenshtein, 1966).
func distance(a, b string) int {
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
