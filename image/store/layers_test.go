package store

import (
	"archive/tar"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
)

// layered are layers and the files that follow.
type layered struct {
	layers [][]file
	want   []string // nil: the image is refused
}

// layeredRight are layers that have effect.
func layeredRight() map[string]layered {
	return map[string]layered{
		"whiteout": {
			[][]file{{{name: "a/"}, {name: "a/x"}, {name: "a/y"}, {name: "b/"}, {name: "b/z"}}, {{name: "a/.wh.x"}, {name: ".wh.b"}}},
			[]string{"d755 a", "-755 a/y="},
		},
		"whiteout of nothing": {[][]file{{{name: "a/"}}, {{name: "a/.wh.x"}}}, []string{"d755 a"}},
		"opaque folder": {
			[][]file{{{name: "a/"}, {name: "a/x"}, {name: "a/d/"}, {name: "a/d/y"}}, {{name: "a/"}, {name: "a/new"}, {name: "a/.wh..wh..opq"}, {name: "a/later"}}},
			[]string{"d755 a", "-755 a/later=", "-755 a/new="},
		},
		"file over folder": {[][]file{{{name: "a/"}, {name: "a/x"}}, {{name: "a", text: "f"}}}, []string{"-755 a=f"}},
		"folder over file": {[][]file{{{name: "a"}}, {{name: "a/"}, {name: "a/x"}}}, []string{"d755 a", "-755 a/x="}},
		"folder over link": {[][]file{{{name: "b/"}, {name: "a", kind: tar.TypeSymlink, text: "b"}}, {{name: "a/"}, {name: "a/x"}}}, []string{"d755 a", "-755 a/x=", "d755 b"}},
		"through a link":   {[][]file{{{name: "usr/lib/"}, {name: "lib", kind: tar.TypeSymlink, text: "usr/lib"}}, {{name: "lib/x"}}}, []string{"l lib>usr/lib", "d755 usr", "d755 usr/lib", "-755 usr/lib/x="}},
		"parents missing":  {[][]file{{{name: "a/b/c"}}}, []string{"d755 a", "d755 a/b", "-755 a/b/c="}},
		"read-only folders": {
			[][]file{
				{{name: "ro/", mode: 0o555}, {name: "ro/x", mode: 0o444, text: "1"}, {name: "ro/in/", mode: 0o500}, {name: "ro/in/y", mode: 0o400}},
				{{name: "ro/x", mode: 0o444, text: "2"}, {name: "ro/in/.wh.y"}},
				{{name: "ro/new", mode: 0o400}},
			},
			[]string{"d755 ro", "d700 ro/in", "-400 ro/new=", "-444 ro/x=2"},
		},
		"no rights":     {[][]file{{{name: "d/", mode: 0o1000}, {name: "d/shadow", mode: 0o1000, text: "s"}}}, []string{"d700 d", "-400 d/shadow=s"}},
		"setuid":        {[][]file{{{name: "su", mode: 0o6755, text: "x"}}}, []string{"-755 su=x"}},
		"devices":       {[][]file{{{name: "dev/"}, {name: "dev/null", kind: tar.TypeChar}, {name: "dev/sda", kind: tar.TypeBlock}, {name: "dev/x"}}}, []string{"d755 dev", "-755 dev/x="}},
		"pipe":          {[][]file{{{name: "p", kind: tar.TypeFifo, mode: 0o600}}}, []string{"p--------- p"}},
		"hard link":     {[][]file{{{name: "a", text: "x"}, {name: "b", kind: tar.TypeLink, text: "a"}}, {{name: "c", kind: tar.TypeLink, text: "/a"}}}, []string{"-755 a=x", "-755 b=x", "-755 c=x"}},
		"absolute":      {[][]file{{{name: "/a", text: "x"}}}, []string{"-755 a=x"}},
		"dots":          {[][]file{{{name: "../../a", text: "x"}, {name: "b/../../../c", text: "y"}}}, []string{"-755 a=x", "-755 c=y"}},
		"root":          {[][]file{{{name: "./", mode: 0o700}, {name: "./a"}}}, []string{"-755 a="}},
		"invalid UTF-8": {[][]file{{{name: "a\xff", text: "x"}}, {{name: ".wh.a\xff"}, {name: "b"}}}, []string{"-755 b="}},
	}
}

// layeredOutside are layers that try to reach files outside of the root. inside is the line of a file that stays inside, in
// folders with the names of outside.
func layeredOutside(outside, inside string) map[string]layered {
	return map[string]layered{
		"link to root": {
			[][]file{{{name: "out", kind: tar.TypeSymlink, text: "/"}}, {{name: "out/evil", text: "x"}}},
			[]string{"-755 evil=x", "l out>/"},
		},
		"link outside":          {[][]file{{{name: "out", kind: tar.TypeSymlink, text: "../../../../../.." + outside}}, {{name: "out/evil", text: "x"}}}, []string{inside}},
		"absolute link outside": {[][]file{{{name: "out", kind: tar.TypeSymlink, text: outside}, {name: "out/evil", text: "x"}}}, []string{inside}},
		"hard link outside":     {[][]file{{{name: "h", kind: tar.TypeLink, text: "../../../../../../etc/passwd"}}}, nil},
		"hard link by a link":   {[][]file{{{name: "l", kind: tar.TypeSymlink, text: "/etc"}, {name: "h", kind: tar.TypeLink, text: "l/passwd"}}}, nil},
		"whiteout outside": {
			[][]file{{{name: "keep"}, {name: "a/"}, {name: "a/l", kind: tar.TypeSymlink, text: "/.."}}, {{name: "a/l/.wh.nothing"}, {name: "../.wh.b"}}},
			[]string{"d755 a", "l a/l>/..", "-755 keep="},
		},
		"unknown entry": {[][]file{{{name: "x", kind: 'Z'}}}, nil},
	}
}

// Layers lie over each other by the rules of OCI. All roots belong to this user, and nothing leaves them.
func TestLayers(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	inside := "-755 " + strings.TrimPrefix(outside, "/") + "/evil=x"
	for _, tests := range []map[string]layered{layeredRight(), layeredOutside(outside, inside)} {
		for what, test := range tests {
			t.Run(what, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { test.run(t, inside) })
				if files := tree(t, outside); len(files) > 0 {
					t.Errorf("outside there is %q", files)
				}
			})
		}
	}
}

func (test layered) run(t *testing.T, inside string) {
	s, shelf := opened(t), newShelf()
	s.transport = inMemory{shelf}
	var layers [][]byte
	for _, files := range test.layers {
		layers = append(layers, tarred(t, files...))
	}
	got, err := s.Fetch(t.Context(), shelf.put(t, "v1", image(t, layers...)), nil)
	if test.want == nil {
		if kindOf(err) != BadImage {
			t.Errorf("%+v, %v", got, err)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	files := tree(t, got.Root)
	if slices.Equal(test.want, []string{inside}) { // the folders above have names of this run
		files = slices.DeleteFunc(files, func(line string) bool { return line != inside })
	}
	if !slices.Equal(files, test.want) {
		t.Errorf("\n%q, want\n%q", files, test.want)
	}
	if _, err := s.Remove(got.Digest); err != nil || len(left(t, s)) > 0 {
		t.Errorf("the image cannot be removed: %v, %q is left", err, left(t, s))
	}
}
