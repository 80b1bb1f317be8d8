package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/berth-gpu/berth/cmd/internal/cli/root"
)

// allTexts are the pages, each under its path below docs, and the help of all commands, each under its name.
func allTexts(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	pages := []string{"../../README.md"}
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatalf("%s: %v", pattern, err)
		}
		pages = append(pages, found...)
	}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		all[strings.TrimPrefix(filepath.ToSlash(page), "../../docs/")] = string(text)
	}
	for _, program := range both(t) {
		eachCommand(program, func(cmd *cobra.Command) { all[cmd.CommandPath()+" --help"] += cmd.Long + "\n" + cmd.Example })
	}
	return all
}

// both returns the commands of berth and of berthd.
func both(t *testing.T) []*cobra.Command {
	t.Helper()
	return []*cobra.Command{root.New(func() error { return nil }), newRoot("berth")}
}

func eachCommand(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		eachCommand(sub, visit)
	}
}

// A job starts in a folder of its own: an example whose command is a file of this folder
// names the folder, or it fails as printed. A page that says so names the exit code.
func TestExamplesFindTheirFiles(t *testing.T) {
	example := regexp.MustCompile("berth (?:submit|run) ([^`\n]*?)-- ([^`\n]*)")
	here := regexp.MustCompile(`(^|\s)(\./\S+|\S+\.(py|sh))(\s|$)`)
	found := 0
	for name, text := range allTexts(t) {
		for _, at := range example.FindAllStringSubmatchIndex(text, -1) {
			options, command, rest := text[at[2]:at[3]], text[at[4]:at[5]], text[at[1]:]
			if found++; here.MatchString(command) && !strings.Contains(options, "-D ") && !strings.HasPrefix(rest, "` ends with exit code 127") {
				t.Errorf("%s: %s: the job does not start in this folder, and finds no %s", name, text[at[0]:at[1]], command)
			}
		}
	}
	if found < 5 {
		t.Errorf("only %d examples were found", found)
	}
}

// Where a job starts stands in the help of what submits one, and on the page of jobs.
func TestWhereAJobStartsIsSaid(t *testing.T) {
	all := allTexts(t)
	for _, name := range []string{"berth submit --help", "berth run --help", "jobs.md"} {
		if text := strings.Join(strings.Fields(all[name]), " "); !strings.Contains(text, "empty folder of its own") || !strings.Contains(text, `-D "$PWD"`) {
			t.Errorf("%s does not say that a job starts in a folder of its own, and how to have it start elsewhere", name)
		}
	}
}

// Only commands that take several tasks say how several are named.
func TestHelpSaysHowManyTasksAreTaken(t *testing.T) {
	for name, several := range map[string]bool{
		"cancel": true, "hold": true, "release": true, "requeue": true, "show": false, "explain": false, "logs": false,
	} {
		cmd, _, err := both(t)[0].Find([]string{name})
		if err != nil || strings.Contains(cmd.Long, "17.[3-9,12]") != several {
			t.Errorf("%s, which takes several: %t (%v), says:\n%s", name, several, err, cmd.Long)
		}
	}
}
