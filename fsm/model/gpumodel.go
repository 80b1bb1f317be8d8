package model

import (
	"slices"
	"strings"
)

// OfModel reports whether a GPU's model is one of those asked for; with none asked for, any is. The request
// is one text, or several separated by |. A text matches a model by its words, which are runs of letters and
// digits: each of them is a word of the model, whatever the case and the order, so that "h100 80gb" matches
// "NVIDIA H100 80GB HBM3", and a10 does not match an A100. A part of a GPU, in whose model MIG is a word,
// matches only if the text has that word, too. A text that equals the model always matches.
func OfModel(asked, name string) bool {
	if asked == "" || asked == name {
		return true
	}
	for more := true; more; {
		var one string
		if one, asked, more = strings.Cut(asked, "|"); one == name || findsModel(one, name) {
			return one != "" || name != ""
		}
	}
	return false
}

func findsModel(text, name string) bool {
	some := false
	for word, rest := cutWord(text); word != ""; word, rest = cutWord(rest) {
		if some = hasWord(name, word); !some {
			return false
		}
	}
	const part = "MIG" // the word of a model that is a part of a GPU
	return some && (!hasWord(name, part) || hasWord(text, part))
}

func hasWord(text, word string) bool {
	for w, rest := cutWord(text); w != ""; w, rest = cutWord(rest) {
		if len(w) == len(word) && strings.EqualFold(w, word) {
			return true
		}
	}
	return false
}

// cutWord returns the first word of a text, and the rest; empty: there is none.
func cutWord(text string) (word, rest string) {
	i := 0
	for i < len(text) && !inWord(text[i]) {
		i++
	}
	j := i
	for j < len(text) && inWord(text[j]) {
		j++
	}
	return text[i:j], text[j:]
}

// inWord counts every character that is not ASCII as a letter.
func inWord(b byte) bool {
	return 'a' <= b && b <= 'z' || 'A' <= b && b <= 'Z' || '0' <= b && b <= '9' || b >= 0x80
}

// SortModels writes alternatives in rising order, each once.
func SortModels(asked string) string {
	if !strings.Contains(asked, "|") {
		return asked
	}
	list := strings.Split(asked, "|")
	for i := range list {
		list[i] = strings.TrimSpace(list[i])
	}
	slices.Sort(list)
	list = slices.DeleteFunc(slices.Compact(list), func(s string) bool { return s == "" })
	return strings.Join(list, "|")
}
