package notify

import (
	"encoding/json"
	"strings"
	"testing"
)

// A value in a body of JSON stays one value, whatever a user has put into it.
func TestValuesInJSONAreEscaped(t *testing.T) {
	t.Parallel()
	n := noticeOfAJob()
	n.Name = `x","channel":"#general`
	for source, want := range map[string]string{
		`{"text":"job {{.data.name}}"}`:                            `{"text":"job x\",\"channel\":\"#general"}`,
		`{"text":{{.data.name}}}`:                                  `{"text":"x\",\"channel\":\"#general"}`,
		`{"text":{{json .data.name}}}`:                             `{"text":"x\",\"channel\":\"#general"}`,
		`{"text":{{.data.name | json}}}`:                           `{"text":"x\",\"channel\":\"#general"}`,
		`{"text":"{{.data.name | upper}}"}`:                        `{"text":"X\",\"CHANNEL\":\"#GENERAL"}`,
		`{"text":"{{raw .data.name}}"}`:                            `{"text":"x","channel":"#general"}`,
		`{"text":"{{.data.name | raw | clip 3}}"}`:                 `{"text":"x\","}`,
		`["{{if .data.name}}{{.data.name}}{{else}}none{{end}}"]`:   `["x\",\"channel\":\"#general"]`,
		`{{if .data.name}}{"a":{{.data.name}}}{{else}}{}{{end}}`:   `{"a":"x\",\"channel\":\"#general"}`,
		`{{with .data}}{"a":"{{.name}}"}{{end}}`:                   `{"a":"x\",\"channel\":\"#general"}`,
		`"\"{{.data.user}}\""`:                                     `"\"alice\""`,
		`{"n":{{.data.attempt}},"missing":{{.data.nothing}}}`:      `{"n":1,"missing":null}`,
		`{"n":"{{.data.attempt}}{{.data.nothing}}"}`:               `{"n":"1"}`,
		`{"text":{{json (clip 2 .data.name)}},"d":"{{json "a"}}"}`: `{"text":"x\"","d":"\"a\""}`,
		`{{json .data.name}}`:                                      `"x\",\"channel\":\"#general"`,
		`job {{.data.name}} ended`:                                 `job x","channel":"#general ended`, // text is text
		`{{.data.name}}`:                                           `x","channel":"#general`,
	} {
		tm, err := ParseTemplate(source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		body, err := tm.Render(EventOf(n))
		if err != nil || string(body) != want {
			t.Errorf("%s makes %s, %v, want %s", source, body, err, want)
		}
		if tm.JSON() != json.Valid([]byte(want)) {
			t.Errorf("%s is taken for JSON: %t", source, tm.JSON())
		}
	}
	for source, want := range map[string]string{
		`{"text":"{{.target}}}`:                       "not closed",
		`{"text":"\{{.target}}"}`:                     "stands before a value",
		`{"text":{{if .target}}"{{end}}{{.target}}"}`: "the other does not",
		`{"text" {{.target}}}`:                        "begins as JSON",
		`{"text": "{{_json_text .target}}"}`:          "not allowed",
	} {
		if _, err := ParseTemplate(source); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", source, err, want)
		}
	}
}

// A text that a user has made look like JSON is sent as a text.
func TestATextIsNotSentAsJSON(t *testing.T) {
	t.Parallel()
	n := noticeOfAJob()
	n.Name = `{"channel":"#general"}`
	tm, err := ParseTemplate(`{{.data.name}}`)
	if err != nil || tm.JSON() {
		t.Errorf("it is taken for JSON, %v", err)
	}
	if body, err := tm.Render(EventOf(n)); err != nil || string(body) != n.Name {
		t.Errorf("it makes %s, %v", body, err)
	}
}
