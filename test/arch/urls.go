package arch

import (
	"go/ast"
	"go/token"
	"strconv"
	"strings"
)

// endpointRoom is the package that forms URLs from addresses.
const endpointRoom = "httpapi/endpoint"

const urlRemedy = "form it by endpoint.URL, which takes an address as a host and a port and nothing else"

// checkURLs looks for URLs that are assembled from text: a literal that begins with a scheme and
// has something added, or formatted in, and a url.URL that is filled by hand. Such an address,
// which came from another machine, can contain a path or another host.
func checkURLs(t *Tree) []Finding {
	var fs []Finding
	for _, f := range t.Files {
		if f.Test || f.Dir == endpointRoom || below(f.Dir, "test") {
			continue
		}
		ast.Inspect(f.AST, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.ADD && beginsURL(n.X) {
					fs = append(fs, t.at(n.Pos(), urlRemedy, "a URL is put together of text"))
				}
			case *ast.CallExpr:
				if len(n.Args) > 1 && beginsURL(n.Args[0]) && formats(n.Args[0]) {
					fs = append(fs, t.at(n.Pos(), urlRemedy, "a URL is formatted"))
				}
			case *ast.CompositeLit:
				if isURLType(n.Type) && len(n.Elts) > 0 {
					fs = append(fs, t.at(n.Pos(), urlRemedy, "a url.URL is filled by hand"))
				}
			}
			return true
		})
	}
	return sorted(fs)
}

// beginsURL reports whether an expression is a text that begins with a scheme and a host
// that is still to come.
func beginsURL(x ast.Expr) bool {
	if sum, is := x.(*ast.BinaryExpr); is {
		return beginsURL(sum.X)
	}
	text := textOf(x)
	return strings.HasPrefix(text, "http://") || strings.HasPrefix(text, "https://")
}

// formats reports whether a text has a verb where the host stands.
func formats(x ast.Expr) bool {
	_, rest, _ := strings.Cut(textOf(x), "://")
	host, _, _ := strings.Cut(rest, "/")
	return strings.Contains(host, "%")
}

func textOf(x ast.Expr) string {
	lit, is := x.(*ast.BasicLit)
	if !is || lit.Kind != token.STRING {
		return ""
	}
	text, err := strconv.Unquote(lit.Value)
	if err != nil {
		return ""
	}
	return text
}

func isURLType(x ast.Expr) bool {
	sel, is := x.(*ast.SelectorExpr)
	if !is || sel.Sel.Name != "URL" {
		return false
	}
	pkg, is := sel.X.(*ast.Ident)
	return is && pkg.Name == "url"
}
