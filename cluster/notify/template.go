package notify

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/berth-gpu/berth/cluster/notify/event"
	"github.com/berth-gpu/berth/fsm/model"
)

// maxRendered bounds a body, in bytes.
const maxRendered = 64 << 10

// Template makes a request's body of an event. Its language is that of text/template, without anything that
// loops, calls other templates, or could make much of little: fields, if and else, with, and the functions
// below. So its time and its output are bounded by its length. One that makes JSON escapes every value by
// itself, so that a job's name cannot add a field to the body; the function raw writes a value as it is.
type Template struct {
	t    *template.Template
	json bool
}

// JSON reports whether the body is JSON; otherwise it is text.
func (t *Template) JSON() bool { return t.json }

// functions returns all that a template may call, in addition to the comparisons below.
func functions() template.FuncMap {
	return template.FuncMap{
		"json":    inJSON,
		"raw":     text,
		"upper":   strings.ToUpper,
		"lower":   strings.ToLower,
		"default": func(none string, v any) string { return or(text(v), none) },
		"clip":    clip,
		"time":    clock,
	}
}

// builtin returns the language's own functions that are allowed.
func builtin() []string { return []string{"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge"} }

func inJSON(v any) (string, error) {
	data, err := json.Marshal(v)
	return string(data), err
}

func text(v any) string {
	if v == nil {
		return ""
	}
	return fmt.Sprint(v)
}

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// clock formats a time, as an event has it, in another layout.
func clock(layout, v string) (string, error) {
	at, err := time.Parse(time.RFC3339Nano, v)
	return at.Format(layout), err
}

// clip cuts a text to so many characters.
func clip(n int, v any) string {
	r := []rune(text(v))
	return string(r[:max(0, min(n, len(r)))])
}

// ParseTemplate parses a template and tries it on an event. Its error names what is not allowed.
func ParseTemplate(source string) (*Template, error) {
	t, err := template.New("template").Option("missingkey=zero").Funcs(functions()).Funcs(template.FuncMap{asValue: inJSON, asText: jsonText}).Parse(source)
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "template: "))
	}
	if len(t.Templates()) > 1 {
		return nil, errors.New("define and block are not allowed")
	}
	if t.Tree == nil {
		return nil, errors.New("it is empty")
	}
	if err := allowed(t.Root); err != nil {
		return nil, err
	}
	tried := &Template{t: t, json: isJSON(t.Root.Nodes)}
	if tried.json {
		if err := escape(t.Root.Nodes); err != nil {
			return nil, err
		}
	}
	body, err := tried.Render(EventOf(&model.Notice{
		Life: 1, Index: 1, Ordinal: 1, Kind: model.NoticeJobCompleted, At: 1, Job: 1, Name: "trial", User: "trial",
	}))
	if err == nil && tried.json && !json.Valid(body) {
		err = fmt.Errorf("it begins as JSON, and the body that it makes is none: %.200s", body)
	}
	return tried, err
}

// allowed walks a template and refuses what could run long.
func allowed(n parse.Node) error {
	switch n := n.(type) {
	case *parse.ListNode:
		if n == nil {
			return nil
		}
		return all(n.Nodes)
	case *parse.ActionNode:
		return allowedPipe(n.Pipe)
	case *parse.IfNode:
		return branch(&n.BranchNode)
	case *parse.WithNode:
		return branch(&n.BranchNode)
	case *parse.TextNode, *parse.CommentNode:
		return nil
	}
	return fmt.Errorf("%s is not allowed: fields, if, else, with and functions are", strings.TrimSpace(model.Clip(n.String())))
}

func all(nodes []parse.Node) error {
	for _, n := range nodes {
		if err := allowed(n); err != nil {
			return err
		}
	}
	return nil
}

func branch(b *parse.BranchNode) error {
	err := errors.Join(allowedPipe(b.Pipe), allowed(b.List))
	if b.ElseList != nil {
		err = errors.Join(err, allowed(b.ElseList))
	}
	return err
}

func allowedPipe(p *parse.PipeNode) error {
	if len(p.Decl) > 0 {
		return errors.New("variables are not allowed")
	}
	for _, c := range p.Cmds {
		for _, arg := range c.Args {
			if err := allowedArg(arg); err != nil {
				return err
			}
		}
	}
	return nil
}

func allowedArg(n parse.Node) error {
	switch n := n.(type) {
	case *parse.PipeNode:
		return allowedPipe(n)
	case *parse.ChainNode:
		return allowedArg(n.Node)
	case *parse.IdentifierNode:
		if _, own := functions()[n.Ident]; !own && !slices.Contains(builtin(), n.Ident) {
			return fmt.Errorf("the function %s is not allowed; json, raw, upper, lower, default, clip, time, %s are", n.Ident,
				strings.Join(builtin(), ", "))
		}
	case *parse.VariableNode:
		if n.Ident[0] != "$" {
			return errors.New("variables are not allowed")
		}
	}
	return nil
}

// Render makes the body of an event.
func (t *Template) Render(e *event.Notice) ([]byte, error) {
	data, err := fieldsOf(e)
	if err != nil {
		return nil, err
	}
	out := &bounded{}
	if err := t.t.Execute(out, data); err != nil {
		return nil, errors.New(model.Clip(strings.TrimPrefix(err.Error(), "template: ")))
	}
	return out.Bytes(), nil
}

// fieldsOf returns an event's fields by the names that they have in JSON: texts, numbers and maps of them,
// which have no methods.
func fieldsOf(e *event.Notice) (map[string]any, error) {
	data, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, err
	}
	for _, name := range []string{"actor", "result"} {
		if out[name] == nil {
			out[name] = ""
		}
	}
	return out, nil
}

// bounded is a buffer with a maximum size.
type bounded struct{ bytes.Buffer }

// Write refuses what does not fit.
func (b *bounded) Write(data []byte) (int, error) {
	if b.Len()+len(data) > maxRendered {
		return 0, fmt.Errorf("the body is longer than %d bytes", maxRendered)
	}
	return b.Buffer.Write(data)
}
