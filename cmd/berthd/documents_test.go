package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/berth-gpu/berth/cmd/internal/config"
)

// codeOf returns the pieces of code of a page: lines of blocks, and spans in a line.
func codeOf(page string) (out []string) {
	span := regexp.MustCompile("`([^`\n]+)`")
	fenced := false
	for line := range strings.SplitSeq(page, "\n") {
		switch {
		case strings.HasPrefix(strings.TrimSpace(line), "```"):
			fenced = !fenced
		case fenced || strings.HasPrefix(line, "    "):
			out = append(out, line)
		default:
			for _, found := range span.FindAllStringSubmatch(line, -1) {
				out = append(out, found[1])
			}
		}
	}
	return out
}

// quotedWord is a word of a shell, with what is quoted in it.
var quotedWord = regexp.MustCompile(`(?:"[^"]*"|'[^']*'|[^\s"'|;&()<>])+`)

// callsIn returns the words of each call of berth or berthd in a piece of code. A call ends where the shell goes on with something
// else, at a comment, and at "--", after which come the words of a job.
func callsIn(code string) (out [][]string) {
	start := regexp.MustCompile(`(?:^|[|;&(] *|[#$] +|^(?:- )?(?:run: )?)(?:sudo |(?:[A-Z_]+=\S+ )+|runuser -u berth -- |echo \S+ \| )?(berthd?) `)
	for _, at := range start.FindAllStringSubmatchIndex(strings.TrimSpace(code), -1) {
		rest := strings.TrimSpace(code)[at[3]:]
		rest, _, _ = strings.Cut(rest, " #")
		words := []string{}
		for i := 0; i < len(rest); {
			for i < len(rest) && rest[i] == ' ' {
				i++
			}
			found := quotedWord.FindStringIndex(rest[i:])
			if found == nil || found[0] != 0 {
				break
			}
			word := rest[i : i+found[1]]
			if word == "--" {
				break
			}
			words, i = append(words, word), i+found[1]
		}
		out = append(out, words)
	}
	return out
}

// unknownIn returns what of a call does not exist; empty: all of it does.
func unknownIn(all *cobra.Command, words []string) string {
	if len(words) == 0 || strings.HasPrefix(words[0], "-") && all.Flags().Lookup(strings.TrimLeft(words[0], "-")) != nil {
		return ""
	}
	if words[0] == "sbatch" { // in place of the link of berth slurm install
		return ""
	}
	cmd, rest, err := all.Find(words)
	if err != nil || cmd == all {
		return "the command " + words[0]
	}
	if len(rest) > 0 && cmd.HasSubCommands() && !strings.HasPrefix(rest[0], "-") && cmd.ValidateArgs(rest[:1]) != nil {
		return "the command " + cmd.CommandPath() + " " + rest[0]
	}
	if cmd.DisableFlagParsing {
		return ""
	}
	for i := 0; i < len(rest); i++ {
		flag := flagOf(cmd, rest[i])
		switch {
		case !strings.HasPrefix(rest[i], "-") || rest[i] == "-":
		case flag == nil:
			return rest[i] + " of " + cmd.CommandPath()
		case flag.NoOptDefVal == "" && !strings.Contains(rest[i], "=") && (strings.HasPrefix(rest[i], "--") || len(rest[i]) == 2):
			i++ // its value
		}
	}
	return ""
}

// flagOf returns the flag that a word begins with.
func flagOf(cmd *cobra.Command, word string) *pflag.Flag {
	if name, long := strings.CutPrefix(word, "--"); long {
		name, _, _ = strings.Cut(name, "=")
		if name == "help" {
			return &pflag.Flag{NoOptDefVal: "true"}
		}
		if f := cmd.Flag(name); f != nil {
			return f
		}
		return cmd.InheritedFlags().Lookup(name)
	}
	if len(word) < 2 {
		return nil
	}
	if f := cmd.Flags().ShorthandLookup(word[1:2]); f != nil {
		return f
	}
	return cmd.InheritedFlags().ShorthandLookup(word[1:2])
}

// Every command that a page or a help names exists, with its flags.
func TestEveryCommandInTheDocumentsExists(t *testing.T) {
	t.Parallel()
	all := whole()
	calls := 0
	for page, text := range allTexts(t) {
		for _, code := range codeOf(text) {
			for _, words := range callsIn(code) {
				calls++
				if what := unknownIn(all, words); what != "" {
					t.Errorf("%s: %q: there is no %s", page, code, what)
				}
			}
		}
	}
	if calls < 400 {
		t.Errorf("only %d calls were found", calls)
	}
	for line, want := range map[string]string{ //nolint:gosec // commands; this test can fail
		"p1#   echo TOKEN | berth jion peer":               "the command jion",
		"berth cert explode":                               "the command berth cert explode",
		"$ berth queue --colour red":                       "--colour of berth queue",
		"BERTH_TOKEN=x berth queue -Z":                     "-Z of berth queue",
		"berth submit -g 1 -- sh -c 'berth x --y'":         "",
		"berthd server --config x > log 2>&1; berth xyz":   "the command xyz",
		"berth config validate /etc/berth/berth.yaml  # x": "",
	} {
		var got string
		for _, words := range callsIn(line) {
			got += unknownIn(all, words)
		}
		if got != want {
			t.Errorf("%s: %q, not %q", line, got, want)
		}
	}
}

// A message of a peer or an agent that names a flag names the setting of the file, too: the units of the packages have a file.
func TestMessagesNameSettings(t *testing.T) {
	t.Parallel()
	settings := map[string][]string{}
	for _, s := range (&config.Config{}).Settings() {
		if s.Flag != "" && !s.Cluster {
			settings[s.Flag] = append(settings[s.Flag], s.Name)
		}
	}
	flag := regexp.MustCompile(`--([a-z]+(?:-[a-z]+)*)`)
	ofCommands := []string{"address", "id", "preemptible"} // of berth join, recover and submit; a peer's id stands next to server.id
	found := 0
	for _, dir := range []string{".", "../../node", "../../cluster"} {
		err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || path == "dev.go" { // berth dev has no file
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, 0)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, is := n.(*ast.BasicLit)
				if !is || literal.Kind != token.STRING || strings.HasPrefix(literal.Value, "`") || strings.Contains(literal.Value, "  berth") {
					return true
				}
				text, _ := strconv.Unquote(literal.Value) // the parser has read it
				for _, name := range flag.FindAllStringSubmatch(text, -1) {
					names := settings[name[1]]
					if len(names) == 0 || slices.Contains(ofCommands, name[1]) {
						continue
					}
					found++
					if !slices.ContainsFunc(names, func(s string) bool { return strings.Contains(text, s) }) {
						t.Errorf("%s: %q names --%s, and no setting of it (%s)", path, text, name[1], strings.Join(names, ", "))
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 10 {
		t.Errorf("only %d flags were found", found)
	}
}
