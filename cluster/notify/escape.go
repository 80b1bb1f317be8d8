package notify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/template/parse"
)

// The functions that are appended to a pipeline. Templates cannot call them.
const (
	asValue = "_json_value" // outside of a string
	asText  = "_json_text"  // inside of one
)

// jsonText returns a value as it is written within a JSON string, without the quotes.
func jsonText(v any) (string, error) {
	quoted, err := json.Marshal(text(v))
	if err != nil {
		return "", err
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

// isJSON reports whether a template makes JSON: the first thing in it that is not a space begins an object, a
// list or a string, or all of it is one value that the function json writes.
func isJSON(nodes []parse.Node) bool {
	var all []parse.Node
	for _, n := range nodes {
		if text, is := n.(*parse.TextNode); !is || strings.TrimSpace(string(text.Text)) != "" {
			all = append(all, n)
		}
	}
	if len(all) == 1 {
		if action, is := all[0].(*parse.ActionNode); is {
			return lastCall(action.Pipe) == "json"
		}
	}
	is, _ := beginsJSON(all)
	return is
}

func beginsJSON(nodes []parse.Node) (is, known bool) {
	for _, n := range nodes {
		switch n := n.(type) {
		case *parse.TextNode:
			if text := strings.TrimSpace(string(n.Text)); text != "" {
				return strings.ContainsRune(`{["`, rune(text[0])), true
			}
		case *parse.ActionNode:
			return false, true
		case *parse.IfNode:
			if is, known = beginsJSON(n.List.Nodes); known {
				return is, true
			}
		case *parse.WithNode:
			if is, known = beginsJSON(n.List.Nodes); known {
				return is, true
			}
		}
	}
	return false, false
}

// lastCall returns the function whose result a pipeline writes; empty: a field.
func lastCall(p *parse.PipeNode) string {
	if len(p.Cmds) == 0 {
		return ""
	}
	if name, is := p.Cmds[len(p.Cmds)-1].Args[0].(*parse.IdentifierNode); is {
		return name.Ident
	}
	return ""
}

// escaper rewrites a template that makes JSON so that each value stays one value, whatever it contains:
// quoted outside of strings, escaped inside.
type escaper struct{ inString bool }

func (e *escaper) list(nodes []parse.Node) error {
	for _, n := range nodes {
		if err := e.node(n); err != nil {
			return err
		}
	}
	return nil
}

func (e *escaper) node(n parse.Node) error {
	switch n := n.(type) {
	case *parse.TextNode:
		return e.text(n.Text)
	case *parse.ActionNode:
		e.action(n)
	case *parse.IfNode:
		return e.branches(&n.BranchNode)
	case *parse.WithNode:
		return e.branches(&n.BranchNode)
	}
	return nil
}

// text follows where strings begin and end.
func (e *escaper) text(text []byte) error {
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '"':
			e.inString = !e.inString
		case text[i] == '\\' && e.inString:
			if i++; i == len(text) {
				return errors.New(`a \ stands before a value: take it out, values in JSON are escaped`)
			}
		}
	}
	return nil
}

// action appends the fitting function to a pipeline, unless the pipeline ends in raw, or outside of a string
// in json.
func (e *escaper) action(n *parse.ActionNode) {
	name := asValue
	if e.inString {
		name = asText
	}
	if last := lastCall(n.Pipe); last == "raw" || last == "json" && !e.inString {
		return
	}
	n.Pipe.Cmds = append(n.Pipe.Cmds, &parse.CommandNode{
		NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{parse.NewIdentifier(name).SetPos(n.Pos)},
	})
}

// branches follows both branches, which must agree on whether a string is open.
func (e *escaper) branches(b *parse.BranchNode) error {
	yes, no := *e, *e
	err := yes.list(b.List.Nodes)
	if b.ElseList != nil {
		err = errors.Join(err, no.list(b.ElseList.Nodes))
	}
	if err == nil && yes != no {
		err = fmt.Errorf("a branch on {{%s}} opens or closes a string and the other does not: put both quotes on the same side", b.Pipe)
	}
	*e = yes
	return err
}

// escape makes a template for JSON write its values escaped.
func escape(nodes []parse.Node) error {
	e := &escaper{}
	if err := e.list(nodes); err != nil {
		return err
	}
	if e.inString {
		return errors.New(`a string is not closed: a " is missing`)
	}
	return nil
}
