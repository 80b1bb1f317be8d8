package redact

import (
	"regexp"
	"strings"
)

// assignment matches the name of a variable or a field, and what stands between it and its value, in all languages.
var assignment = lazy(`([A-Za-z][A-Za-z0-9_.-]*)(\\*["'\]]{0,2}[ \t]*(?:=>|:=|!=|={1,3}|:)[ \t]*)`)

// option matches an option, or the name of a variable after the word that sets it, and what stands before its value: a space, or the
// quotes of a list of words.
var option = lazy(`(?:^|[\s"'\[(,])(?:--?|(?i:setenv|env|arg|set)[ \t]+)([A-Za-z][A-Za-z0-9_.-]*)([ \t]+|\\*["'][ \t]*,\s*)`)

// pair matches a name and a value that are fields of their own, as Kubernetes writes variables.
var pair = lazy(`(?i)\b(?:name|key)\\*["']?\s*[:=]\s*\\*["']?([A-Za-z][A-Za-z0-9_.-]*)` +
	`(\\*["']?\s*,?\s*\\*["']?\bvalue\\*["']?\s*[:=][ \t]*)`)

// element matches an element of XML.
var element = lazy(`<(?:[A-Za-z0-9_-]+:)?([A-Za-z][A-Za-z0-9_.-]*)((?:\s[^<>]*)?>)`)

// followed returns a text without the values that follow secret names, by an expression whose groups are the name and what stands
// between it and the value.
func followed(text string, names *regexp.Regexp, end func(text string, m []int) (from, to int)) string {
	var out strings.Builder
	done := 0
	for _, m := range names.FindAllStringSubmatchIndex(text, -1) {
		name := text[m[2]:m[3]]
		if m[2] < done || !secretly(name) {
			continue
		}
		from, to := end(text, m)
		value := text[from:to]
		workingFolder := (name == "PWD" || name == "OLDPWD") && strings.HasPrefix(value, "/")
		if from < done || harmless(value) || isPath(value) || workingFolder {
			continue
		}
		out.WriteString(text[done:from])
		out.WriteString(Removed)
		done = to
	}
	return out.String() + text[done:]
}

// ofField returns the place of the value of a field.
func ofField(text string, m []int) (from, to int) {
	from = m[5]
	if first := quoted(text[from:]); first > 0 {
		return from, from + first
	}
	rest := text[from:]
	line := rest[:endOfLine(rest)]
	column, begins := columnOf(text, m[2])
	between := text[m[4]:m[5]]
	switch {
	case begins && strings.HasPrefix(between, ":") && blocks(line):
		return from, from + len(line) + block(rest[len(line):], column, strings.TrimSpace(line) != "")
	case strings.TrimSpace(line) == "":
		space := len(rest) - len(strings.TrimLeft(rest, " \t\r\n"))
		return from + space, from + space + quoted(rest[space:])
	case line[0] == '[':
		return from, from + max(0, strings.IndexByte(line, ']')+1)
	case object().MatchString(line):
		return from, from // the fields in it are looked at one by one
	case line[0] == '{': // as ODBC quotes
		return from, from + max(1, strings.IndexByte(line, '}')+1)
	case begins && len(between) > 1 && strings.HasPrefix(between, ":"): // a line of YAML
		line, _, _ = strings.Cut(line, " #")
		return from, from + len(strings.TrimRight(line, " \t,"))
	case begins && !strings.ContainsAny(line, " \t\"'") && !another().MatchString(line): // a line of an environment
		return from, from + len(line)
	}
	return from, from + plainEnd(line, " \t,;}])\"'\x00")
}

// object matches the beginning of an object of JSON or YAML, or of a template.
var object = lazy(`^\{\s*(?:\\*["'{}]|[A-Za-z_][A-Za-z0-9_.-]*\s*:|$)`)

// item matches a line of YAML with a name of its own.
var item = lazy(`^[A-Za-z"'][^:]*:(?:[ \t]|$)`)

// another matches the next name of a list of names and values.
var another = lazy(`[;,&\x00][A-Za-z][A-Za-z0-9_.-]*=`)

// ofOption returns the place of the value of an option.
func ofOption(text string, m []int) (from, to int) {
	from = m[5]
	rest := text[from:]
	if end := quoted(rest); end > 0 {
		return from, from + end
	}
	if strings.HasPrefix(rest, "-") {
		return from, from // the next option
	}
	return from, from + plainEnd(rest[:endOfLine(rest)], " \t\"'")
}

// ofElement returns the place of the content of an element.
func ofElement(text string, m []int) (from, to int) {
	from = m[5]
	rest := text[from:]
	end := strings.IndexByte(rest, '<')
	if end < 0 || strings.HasSuffix(text[m[4]:m[5]], "/>") {
		end = 0
	}
	return from, from + end
}

// endOfLine returns the length of the first line of a text.
func endOfLine(text string) int { return plainEnd(text, "\r\n") }

// plainEnd returns the length of what stands before the first of some characters.
func plainEnd(text, ends string) int {
	if at := strings.IndexAny(text, ends); at >= 0 {
		return at
	}
	return len(text)
}

// quoted returns the length of a quoted text at the beginning of a text; 0: there is none. A quote that is nested in another text has
// backslashes, and ends with as many. A text whose end was cut off goes to the end of its line.
func quoted(text string) int {
	start := 0
	if len(text) > 1 && strings.ContainsRune("bBrRuUf$", rune(text[0])) && (text[1] == '"' || text[1] == '\'') {
		start = 1 // as in b'...' of Python
	}
	depth := start
	for depth < len(text) && text[depth] == '\\' {
		depth++
	}
	if depth == len(text) || text[depth] != '"' && text[depth] != '\'' {
		return 0
	}
	quote, nested, slashes := text[depth], depth-start, 0
	for i := depth + 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\':
			slashes++
			continue
		case c == quote && nested == 0 && slashes%2 == 0:
			if quote == '\'' && i+1 < len(text) && text[i+1] == quote {
				i++ // two of them are one in YAML and SQL
				break
			}
			return i + 1
		case c == quote && nested > 0 && slashes == nested:
			return i + 1
		case c == quote && nested > 0 && slashes < nested: // the outer text ends
			return i - slashes
		}
		slashes = 0
	}
	return endOfLine(text)
}

// columnOf returns the column of a name, and whether it is the first word of its line: of YAML, of a file of variables or of a script.
func columnOf(text string, at int) (column int, begins bool) {
	line := text[strings.LastIndexAny(text[:at], "\r\n")+1 : at]
	before := strings.TrimLeft(line, " \t-")
	return len(line), before == "" || before == "export " || before == "set "
}

// blocks reports whether the rest of a line of YAML says that the value stands in the next lines.
func blocks(line string) bool {
	line, _, _ = strings.Cut(line, " #")
	line = strings.TrimSpace(line)
	return line == "" || (line[0] == '|' || line[0] == '>') && len(line) <= 3
}

// block returns the length of the lines that are a value in YAML, below a name in a column: those that are indented more, or
// a list at the same column. Unless they are one text, lines with names of their own are none: these names are looked at.
func block(text string, column int, whole bool) (length int) {
	for length < len(text) {
		start := length + len(text[length:]) - len(strings.TrimLeft(text[length:], "\r\n"))
		line := text[start : start+endOfLine(text[start:])]
		words := strings.TrimLeft(line, " \t")
		indent := len(line) - len(words)
		within := indent > column || !whole && indent == column && strings.HasPrefix(words, "- ")
		if words == "" || !within || !whole && item().MatchString(strings.TrimLeft(words, "- ")) {
			break
		}
		length = start + len(line)
	}
	return length
}
