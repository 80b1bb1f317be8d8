package container

import (
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// set applies options in the form NAME=VALUE or NAME.
func set(t *testing.T, words ...string) (*Options, error) {
	t.Helper()
	o := &Options{}
	table := Table(func(image string) error {
		if strings.Contains(image, "//") {
			return errors.New(image)
		}
		return nil
	})
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		i := slices.IndexFunc(table, func(e Option) bool { return e.Name == name })
		if i < 0 {
			t.Fatal("there is no option ", name)
		}
		if err := table[i].Set(o, value); err != nil {
			return o, err
		}
	}
	return o, nil
}

// TestOptions checks what options mean; the last of two counts.
func TestOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		words string
		want  Options
	}{
		{"container-image=nvcr.io#nvidia/pytorch:24.01-py3", Options{Image: "nvcr.io#nvidia/pytorch:24.01-py3"}},
		{"container-image=/data/a.sqsh container-workdir=/out", Options{Image: "/data/a.sqsh", Workdir: "/out"}},
		{"container-mounts=/a,b:/b,/c:/d:ro+rbind,/e:/f:bind+rprivate", Options{Mounts: []Mount{
			{Source: "/a", Target: "/a"}, {Source: "b", Target: "/b"}, {Source: "/c", Target: "/d", ReadOnly: true}, {Source: "/e", Target: "/f", Alone: true},
		}}},
		{"container-mounts=/a:/b container-mounts=/c:/d", Options{Mounts: []Mount{{Source: "/c", Target: "/d"}}}},
		{"container-name=x", Options{Name: "x"}},
		{"container-name=x:exec", Options{Name: "x", Use: Exec}},
		{"container-name=x:exec container-name=y:auto", Options{Name: "y"}},
		{"container-env=A,B", Options{Env: []string{"A", "B"}}},
		{"container-mount-home container-remap-root container-entrypoint container-readonly", Options{Home: true, Root: true, Entrypoint: true, ReadOnly: true}},
		{"container-mount-home no-container-mount-home container-readonly container-writable", Options{}},
	} {
		got, err := set(t, strings.Fields(c.words)...)
		if err != nil || !reflect.DeepEqual(*got, c.want) {
			t.Errorf("%s: %+v, %v; want %+v", c.words, *got, err, c.want)
		}
	}
}

// TestOptionErrors checks that faults are named.
func TestOptionErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ word, want string }{
		{"container-image=", "it is empty"},
		{"container-image=a//b", "a//b"},
		{"container-mounts=", "no mount is named"},
		{"container-mounts=:/b", "the source is no path"},
		{"container-mounts=a", `the target "a" is no absolute path`},
		{"container-mounts=/a:/b:ro:rw", "more than three parts"},
		{"container-mounts=/a:/b:exec", `the unknown flag "exec"`},
		{"container-mounts=" + strings.Repeat("/a,", 200), "there may be 128"},
		{"container-workdir=a", `the working folder "a" is no absolute path`},
		{"container-name=", "the name is empty"},
		{"container-name=../x", "only letters, digits"},
		{"container-name=x:join", `"join" is unknown after the name`},
		{"container-env=" + strings.Repeat("A,", 300), "there may be 256"},
		{"container-workdir=/" + strings.Repeat("a", 5000), "more than 4096 bytes"},
	} {
		if o, err := set(t, c.word); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: %+v, %v; want %q", c.word, o, err, c.want)
		}
	}
}

// TestCopy checks that a copy shares no data.
func TestCopy(t *testing.T) {
	t.Parallel()
	o := &Options{Image: "a", Mounts: []Mount{{Source: "/a", Target: "/b"}}, Env: []string{"A"}}
	c := o.Copy()
	c.Mounts[0].Source, c.Env[0] = "/x", "X"
	if !o.Given() || o.Mounts[0].Source != "/a" || o.Env[0] != "A" || (*Options)(nil).Given() {
		t.Errorf("%+v", o)
	}
}
