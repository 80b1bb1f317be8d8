package config

import (
	"slices"
	"strings"
	"testing"
)

// Settings are added to a file, changed and removed in it; all else stays, as it is written.
func TestEdit(t *testing.T) {
	t.Parallel()
	const text = `# Settings of Berth.

server:
  id: p1 # never changes
  # of the API
  http: 0.0.0.0:10000
agent:
  umask: 077
  accounts: {ann: a}
log:
`
	for _, v := range []struct{ name, text, values, want, changed string }{
		{"nothing", text, "", text, ""},
		{
			"the same", text,
			`{"server.http": "0.0.0.0:10000", "agent.accounts": {"ann": "a"}, "agent.umask": "077", "backup.dir": null}`, text, "",
		},
		{"another", text, "server.http: 0.0.0.0:1\n", strings.Replace(text, ":10000", ":1", 1), "server.http"},
		{"a section", text, `{"backup.dir": "/b", "backup.keep": 3}`, text + "backup:\n  dir: /b\n  keep: 3\n", "backup.dir backup.keep"},
		{
			"a list", text, `{"backup.recipients": ["age1x", "age1y"]}`,
			text + "backup:\n  recipients:\n    - age1x\n    - age1y\n", "backup.recipients",
		},
		{"no section so far", text, "log.level: debug", text + "  level: debug\n", "log.level"},
		{"gone", text, "server.http: null", strings.Replace(text, "  # of the API\n  http: 0.0.0.0:10000\n", "", 1), "server.http"},
		{
			"text that looks like a number", "", `{"server.id": "010", "log.level": "on"}`,
			"server:\n  id: \"010\"\nlog:\n  level: on\n", "server.id log.level",
		},
		{"comments alone", "# one\n# two\n", "server.id: p2", "# one\n# two\n\nserver:\n  id: p2\n", "server.id"},
		{"an empty section", "server: {}\n", "server.id: p2", "server:\n  id: p2\n", "server.id"},
		{"characters", "", `{"backup.dir": "/a %i $HOME \"x\" \\"}`, "backup:\n  dir: /a %i $HOME \"x\" \\\n", "backup.dir"},
	} {
		out, changed, err := Edit("berth.yaml", []byte(v.text), []byte(v.values))
		if err != nil || !alikeButForBlanks(string(out), v.want) || strings.Join(changed, " ") != v.changed {
			t.Errorf("%s: %v, %q changed:\n%s\nnot\n%s", v.name, err, changed, out, v.want)
		}
		if again, changed, err := Edit("berth.yaml", out, []byte(v.values)); err != nil || len(changed) > 0 || string(again) != string(out) {
			t.Errorf("%s: once more: %v, %q changed", v.name, err, changed)
		}
	}
}

// alikeButForBlanks compares texts but for blank lines and the spaces before comments.
func alikeButForBlanks(a, b string) bool {
	lines := func(text string) []string {
		list := strings.Split(text, "\n")
		for i := range list {
			list[i] = strings.TrimRight(list[i], " ")
		}
		return slices.DeleteFunc(list, func(l string) bool { return l == "" })
	}
	return slices.Equal(lines(a), lines(b))
}

// What cannot be written is refused with its reason.
func TestEditRefuses(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ text, values, want string }{
		{"", "server.idd: p1", "there is no setting server.idd; did you mean server.id?"},
		{"", "server: {id: p1}", "there is no setting server"},
		{"", "[a]", "must be NAME: VALUE lines"},
		{"", "a: [", "the given settings:1:"},
		{"", "server.id: a\nserver.id: b\n", "server.id is a duplicate of line 1"},
		{"server: [a]\n", "server.id: p1", "server in line 1 is no section"},
		{"server: {id: p1\n", "server.id: p1", "berth.yaml:"},
		{"a: 1\n---\nb: 1\n", "server.id: p1", "second document"},
	} {
		if _, _, err := Edit("berth.yaml", []byte(v.text), []byte(v.values)); err == nil || !strings.Contains(err.Error(), v.want) {
			t.Errorf("%q in %q: %v, not %q", v.values, v.text, err, v.want)
		}
	}
}
