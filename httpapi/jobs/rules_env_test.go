package jobs_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/httpapi/apitest"
	"github.com/berth-gpu/berth/httpapi/core"
	"github.com/berth-gpu/berth/httpapi/intake"
	"github.com/berth-gpu/berth/httpapi/wire"
)

// documentedRules are those that docs/security.md shows.
func documentedRules(t *testing.T) (c intake.CommandRules) {
	t.Helper()
	doc, err := os.ReadFile("../../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(doc), "```yaml\nforbidden:")
	text, _, _ = strings.Cut(text, "```")
	type rule struct{ Name, Pattern, Message string }
	var lists struct {
		Forbidden, Allowed []rule
		ForbiddenEnv       []rule `yaml:"forbidden_env"`
	}
	if err := yaml.Unmarshal([]byte("forbidden:"+text), &lists); err != nil || len(lists.ForbiddenEnv) == 0 {
		t.Fatal(err, text)
	}
	for _, v := range []struct {
		list []rule
		add  func(name, text, message string) error
	}{{lists.Forbidden, c.Forbid}, {lists.Allowed, c.Allow}, {lists.ForbiddenEnv, c.ForbidEnv}} {
		for _, r := range v.list {
			if err := v.add(r.Name, r.Pattern, r.Message); err != nil {
				t.Fatal(err)
			}
		}
	}
	return c
}

// The rules that are documented let no second command pass, and no variable that has another program
// run.
func TestDocumentedRules(t *testing.T) {
	s := apitest.New(t)
	s.API.TakeOver(core.Terms{Rules: documentedRules(t)})
	quoted := func(v any) string {
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, text := range []string{
		"python3 a.py\nid", "python3 $(id)", "python3 `id`", "python3 a.py; id", "python3 a.py && id", "python3 a.py | sh", "python3 a.py & id",
		"python3 <(id)", "python3 a.py > /etc/x", "python3 a.py\r\nid", "id\npython3 a.py", "sudo python3 a.py", "python3 $(sudo id)",
		"python3 /usr/bin/sudo", "python3 ${IFS}x", "python3  'a'", "python3 a.py\n", "perl",
	} {
		s.Submit(`{"command":` + quoted(text) + `}`).About("command")
	}
	for _, name := range []string{
		"LD_PRELOAD", "LD_LIBRARY_PATH", "PATH", "PYTHONSTARTUP", "PYTHONPATH", "BASH_ENV", "ENV", "IFS", "PERL5OPT", "NODE_OPTIONS", "GCONV_PATH",
	} {
		r := s.Submit(`{"command":"python3 a.py","env":{"` + name + `":"SECRET"}}`)
		r.About("env")
		if !strings.Contains(string(r.Body), name) || strings.Contains(string(r.Body), "SECRET") {
			t.Errorf("%s is answered %s", name, r.Body)
		}
	}
	for _, body := range []string{
		`{"command":"python3 train.py --lr=1e-3 --out /data/x.pt","env":{"EPOCHS":"3","MY_PATH":"x","OMP_NUM_THREADS":"4"}}`,
		`{"args":["python3","a.py"]}`,
	} {
		s.Submit(body).Into(new(wire.Submitted))
	}
}

// An allowed pattern matches the whole text, whatever flags it sets; so does one for names.
func TestRulesMatchTheWhole(t *testing.T) {
	s := apitest.New(t)
	var rules intake.CommandRules
	for _, err := range []error{rules.Allow("lines", `(?m)^python a|^true$`, ""), rules.AllowEnv("few", `(?m)A|B_[0-9]+`, "")} {
		if err != nil {
			t.Fatal(err)
		}
	}
	s.API.TakeOver(core.Terms{Rules: rules})
	for _, body := range []string{`"command":"true\nid"`, `"command":"id\ntrue"`, `"command":"python ab"`} {
		s.Submit("{" + body + "}").About("command")
	}
	for _, name := range []string{"AB", "XA", "B_", "B_1x", "C"} {
		r := s.Submit(`{"command":"true","env":{"` + name + `":""}}`)
		if r.About("env"); !strings.Contains(string(r.Body), "are allowed here: few") {
			t.Errorf("%s is answered %s", name, r.Body)
		}
	}
	s.Submit(`{"command":"true","env":{"A":"","B_12":""}}`).Into(new(wire.Submitted))
}

// Of the environment of a submission the variables that are not allowed, and those that Berth sets, are left out; none is refused.
func TestEnvironmentOfASubmissionIsFiltered(t *testing.T) {
	for _, v := range []struct {
		rules intake.CommandRules
		want  string
	}{
		{intake.CommandRules{}, "BASH_FUNC_module%%=() {  eval 1;\n}\x00HOME=/users/ann\x00LD_PRELOAD=x"},
		{documentedRules(t), "HOME=/users/ann"},
	} {
		s := apitest.New(t)
		s.API.TakeOver(core.Terms{Rules: v.rules})
		if got := submitShell(s, t); got != v.want {
			t.Errorf("the job has %q, want %q", got, v.want)
		}
	}
}

// submitShell submits a job with the environment of a shell, and returns what the cluster keeps of that.
func submitShell(s *apitest.Site, t *testing.T) string {
	t.Helper()
	shell := map[string]string{
		"HOME": "/users/ann", "LD_PRELOAD": "x", "BERTH_TOKEN": "secret", "CUDA_VISIBLE_DEVICES": "7", "BASH_FUNC_module%%": "() {  eval 1;\n}",
	}
	body, err := json.Marshal(wire.Submit{Command: "python3 a.py", Shell: shell})
	if err != nil {
		t.Fatal(err)
	}
	var done wire.Submitted
	s.Submit(string(body)).Into(&done)
	state := s.State()
	id, err := intake.JobID(done.JobID)
	if err != nil {
		t.Fatal(err)
	}
	job, _ := state.Jobs.Get(id)
	blob, _ := state.Blobs.Get(job.SubmitEnv)
	return s.Opened(blob.Data)
}

// Names and sizes of the environment of a submission have bounds.
func TestWrongEnvironmentsOfASubmission(t *testing.T) {
	s := apitest.New(t)
	for _, bad := range []string{`{"A=B":"1"}`, `{"1A":"1"}`, `{"BASH_FUNC_%%":"1"}`, `{"A":"` + "\\u0000" + `"}`} {
		s.Submit(`{"command":"true","submit_env":` + bad + `}`).About("submit_env")
	}
	large := `{"command":"true","submit_env":{"A":"` + strings.Repeat("x", 1<<20) + `"}}`
	s.Submit(large).About("submit_env")
	s.Submit(strings.Replace(large, "xxx", "", 1)).Into(new(wire.Submitted))
}
