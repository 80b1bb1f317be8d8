package config

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Example returns a file that holds every setting at its default, commented out.
func Example() string {
	var b strings.Builder
	b.WriteString(`# Every setting of Berth, at its default. Remove the # of a line to set it.
#
# One file can serve all programs of a machine: a peer reads server, an agent agent, the
# commands client; peers and agents also log. Settings marked [cluster] have one value in the
# whole cluster: they take effect when the cluster is founded, and berth config set changes
# them from then on. Settings marked [SIGHUP] are taken over by a running program.
#
# The environment (BERTH_SERVER_HTTP) wins over this file, a flag (--http) over both.
# berth config validate FILE checks a file, berth config show prints the values in force.
`)
	section := ""
	for _, row := range New().Settings() {
		if at := sectionOf(row.Name); at != section {
			section = at
			fmt.Fprintf(&b, "\n%s:\n", section)
		}
		fmt.Fprintf(&b, "  # %s%s\n  #%s: %s\n", row.Meaning(), marks(&row), strings.TrimPrefix(row.Name, section+"."), Written(row.Value))
	}
	return b.String()
}

// marks returns the properties of a setting that its meaning does not contain.
func marks(row *Setting) (out string) {
	if row.Cluster {
		out += " [cluster]"
	}
	if row.Reload {
		out += " [SIGHUP]"
	}
	return out
}

// Written formats a value for a file, in one line.
func Written(v Value) string {
	text := v.Text()
	var n yaml.Node
	switch v.shape() {
	case isList:
		n.Kind = yaml.SequenceNode
		for part := range strings.SplitSeq(text, ",") {
			if part != "" {
				n.Content = append(n.Content, scalarNode(part))
			}
		}
	case isPairs:
		n.Kind = yaml.MappingNode
		for part := range strings.SplitSeq(text, ",") {
			if name, value, found := strings.Cut(part, "="); found {
				n.Content = append(n.Content, scalarNode(name), scalarNode(value))
			}
		}
	case isPart:
		if text == "" {
			return "{}"
		}
		return text
	case isScalar:
		n = *scalarNode(text)
		if _, is := v.(scalar[string]); !is { // a number, a switch, a time
			n.Style = 0
		}
	}
	if n.Kind != yaml.ScalarNode {
		n.Style = yaml.FlowStyle
	}
	out, err := yaml.Marshal(&n)
	if err != nil {
		return text
	}
	return strings.TrimSpace(string(out))
}

func scalarNode(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if NeedsQuotes(text) {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// NeedsQuotes reports whether a reader of YAML 1.1 or 1.2 may take a text without quotes for
// something else: a truth value (no, on, y), nothing (~), a merge (<<), a number (0o17, 1_000,
// 1:30, .inf) or a date. A text that begins like a number is always quoted.
func NeedsQuotes(text string) bool {
	words := []string{"", "y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "=", "<<"}
	if slices.Contains(words, strings.ToLower(text)) {
		return true
	}
	digits := strings.TrimLeft(text, "+-.")
	return digits == "" || digits[0] >= '0' && digits[0] <= '9' ||
		len(digits) < len(text) && slices.Contains([]string{"inf", "nan"}, strings.ToLower(digits))
}

// Reference returns the table for the documentation.
func Reference() string {
	var b strings.Builder
	section := ""
	for _, row := range New().Settings() {
		if at := sectionOf(row.Name); at != section {
			section = at
			fmt.Fprintf(&b, "\n### %s\n\n| setting | default | written as | flag | environment | what it does |\n|---|---|---|---|---|---|\n", section)
		}
		flag, variable := "", code(row.Variable())
		if row.Value.shape() == isPart {
			variable = ""
		}
		if row.Flag != "" {
			flag = "`--" + row.Flag + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s | %s%s |\n", row.Name, code(row.Value.Text()), row.Value.Kind(), flag, variable,
			row.Meaning(), marks(&row))
	}
	b.WriteString("\n### Other names\n\n| in a file | environment | stands for | how, or why it has no effect |\n|---|---|---|---|\n")
	for _, o := range otherNames() {
		to := "nothing"
		if o.To != "" {
			to = code(o.To)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", code(o.Name), code(o.Env), to, o.Why)
	}
	return b.String()
}

func code(text string) string {
	if text == "" {
		return ""
	}
	return "`" + text + "`"
}

// besides returns the variables that belong to no setting.
func besides() map[string]string {
	return map[string]string{
		fileVariable:                     "names the file with settings, for every program, where --config does not",
		otherVariable:                    "names the file with settings, for peers and agents, where neither --config nor " + fileVariable + " does (default: " + defaultFile + " in the folder where they are started, if it is there)",
		"BERTH_TOKEN":                    "is the token that commands send to a cluster with authentication",
		"RESEARCH_AGENT_USER_AUTH_TOKEN": "is the token that commands send to a cluster with authentication, if BERTH_TOKEN is empty",
	}
}

// Explain returns everything about a setting, or about another name of one.
func Explain(name string) (string, error) {
	if what, known := besides()[name]; known {
		return fmt.Sprintf("%s is no setting: the variable %s.\n", name, what), nil
	}
	t := newTable(New().Settings())
	row := t.row(name)
	if row == nil {
		for i := range t.rows {
			if r := &t.rows[i]; name == r.Variable() || r.Flag != "" && strings.TrimPrefix(name, "--") == r.Flag {
				row = r
				break
			}
		}
	}
	var b strings.Builder
	if row != nil {
		explainRow(&b, row)
	}
	for i, o := range t.others[name] {
		if i > 0 {
			b.WriteByte('\n')
		}
		if o.To == "" {
			fmt.Fprintf(&b, "%s is accepted and has no effect: %s.\n", name, o.Why)
			continue
		}
		fmt.Fprintf(&b, "%s is another name of %s (%s).\n\n", name, o.To, o.Why)
		explainRow(&b, t.row(o.To))
	}
	if b.Len() == 0 {
		return "", fmt.Errorf("there is no setting %s%s", name, t.meant(name))
	}
	return b.String(), nil
}

func explainRow(b *strings.Builder, row *Setting) {
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(b, "%-12s %s\n", name, text)
		}
	}
	fmt.Fprintf(b, "%s: %s\n\n", row.Name, row.Meaning())
	line("Default", row.Value.Text())
	line("Written as", row.Value.Kind())
	line("For", row.For.String())
	if row.Flag != "" {
		line("Flag", "--"+row.Flag)
	}
	if row.Value.shape() != isPart {
		line("Environment", row.Variable())
	}
	switch {
	case row.Cluster:
		line("Scope", "the whole cluster has one value, from its founding on; berth config set changes it")
	case row.Reload:
		line("Scope", "this process; a new value is taken over on SIGHUP")
	default:
		line("Scope", "this process, from its next start on")
	}
}
