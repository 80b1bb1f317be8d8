package name_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/berth-gpu/berth/image/name"
)

const digest = "sha256:" + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

func TestParse(t *testing.T) {
	t.Parallel()
	hub := name.DockerHub
	for text, want := range map[string]name.Name{
		"ubuntu":                                      {Registry: hub, Repository: "library/ubuntu", Tag: "latest"},
		"ubuntu:24.04":                                {Registry: hub, Repository: "library/ubuntu", Tag: "24.04"},
		"nvidia/cuda:12":                              {Registry: hub, Repository: "nvidia/cuda", Tag: "12"},
		"docker.io/library/alpine":                    {Registry: hub, Repository: "library/alpine", Tag: "latest"},
		"docker.io/alpine":                            {Registry: hub, Repository: "library/alpine", Tag: "latest"},
		"docker.io#alpine":                            {Registry: hub, Repository: "library/alpine", Tag: "latest"},
		"nvcr.io#nvidia/pytorch:24.01-py3":            {Registry: "nvcr.io", Repository: "nvidia/pytorch", Tag: "24.01-py3"},
		"nvcr.io/nvidia/pytorch:24.01-py3":            {Registry: "nvcr.io", Repository: "nvidia/pytorch", Tag: "24.01-py3"},
		"docker://nvcr.io#nvidia/pytorch:24.01-py3":   {Registry: "nvcr.io", Repository: "nvidia/pytorch", Tag: "24.01-py3"},
		"docker://$oauthtoken@nvcr.io#nvidia/pytorch": {User: "$oauthtoken", Registry: "nvcr.io", Repository: "nvidia/pytorch", Tag: "latest"},
		"me@ubuntu":                                   {User: "me", Registry: hub, Repository: "library/ubuntu", Tag: "latest"},
		"me@example.org@ubuntu":                       {User: "me@example.org", Registry: hub, Repository: "library/ubuntu", Tag: "latest"},
		"me@r.org:5000#a/b@" + digest:                 {User: "me", Registry: "r.org:5000", Repository: "a/b", Digest: digest},
		"r.org:5000/a/b:t@" + digest:                  {Registry: "r.org:5000", Repository: "a/b", Tag: "t", Digest: digest},
		"localhost/a":                                 {Registry: "localhost", Repository: "a", Tag: "latest"},
		"localhost:5000/a:b":                          {Registry: "localhost:5000", Repository: "a", Tag: "b"},
		"127.0.0.1:5000#a":                            {Registry: "127.0.0.1:5000", Repository: "a", Tag: "latest"},
		"[::1]:5000#a":                                {Registry: "[::1]:5000", Repository: "a", Tag: "latest"},
		"registry#team/image":                         {Registry: "registry", Repository: "team/image", Tag: "latest"},
		"NVCR.io#nvidia/cuda":                         {Registry: "nvcr.io", Repository: "nvidia/cuda", Tag: "latest"},
		"a/b.c__d---e_f":                              {Registry: hub, Repository: "a/b.c__d---e_f", Tag: "latest"},
		"docker.io#a.b/c":                             {Registry: hub, Repository: "a.b/c", Tag: "latest"},
		"/data/a b:c@d#e.sqsh":                        {Path: "/data/a b:c@d#e.sqsh"},
		"./x.tar":                                     {Path: "./x.tar"},
		"../x":                                        {Path: "../x"},
		"..":                                          {Path: ".."},
		"r.org/x.tar":                                 {Registry: "r.org", Repository: "x.tar", Tag: "latest"},
		strings.Repeat("a", 200) + "/b":               {Registry: hub, Repository: strings.Repeat("a", 200) + "/b", Tag: "latest"},
		"a:" + strings.Repeat("t", 128):               {Registry: hub, Repository: "library/a", Tag: strings.Repeat("t", 128)},
		"docker://" + "a/b/c/d" + "@" + digest:        {Registry: hub, Repository: "a/b/c/d", Digest: digest},
		"sha256@ubuntu:24.04":                         {User: "sha256", Registry: hub, Repository: "library/ubuntu", Tag: "24.04"},
		"user@sha256:24.04":                           {},
		"me@registry.example.org#sha256/cuda:12":      {User: "me", Registry: "registry.example.org", Repository: "sha256/cuda", Tag: "12"},
	} {
		got, err := name.Parse(text)
		if want == (name.Name{}) {
			if err == nil {
				t.Errorf("%q is read as %+v", text, got)
			}
			continue
		}
		if err != nil || got != want {
			t.Errorf("%q is read as %+v, %v", text, got, err)
		}
		again, err := name.Parse(got.String())
		if err != nil || again != got {
			t.Errorf("%q is written as %q, which is read as %+v, %v", text, got.String(), again, err)
		}
	}
}

// Messages have the value, the reason and what to write.
func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, says := range map[string]string{
		"":                              "is empty",
		"dockerd://ubuntu":              "docker save",
		"podman://ubuntu":               "daemon",
		"https://nvcr.io/a":             "without https://",
		"oci://x":                       "not known",
		"docker://":                     "no name",
		"docker:///data/x":              "write /data/x",
		"x.sqsh":                        "write ./x.sqsh",
		"images/x.tar.gz":               "write ./images/x.tar.gz",
		"a b":                           "not valid in the name",
		"Ubuntu":                        "write ubuntu:",
		"NVIDIA/cuda":                   "write nvidia/cuda:",
		"a//b":                          `part ""`,
		"a/":                            `part ""`,
		"a:":                            `tag ""`,
		"a:b:c":                         `tag "b:c"`,
		"a:" + strings.Repeat("t", 129): "tag",
		"a:-b":                          "tag",
		"a@sha256:12":                   "64 hexadecimal digits",
		"a@sha512:" + digest[7:]:        "64 hexadecimal digits",
		"a@":                            "no name",
		"@a":                            "no user",
		"#a":                            "no host",
		"nvcr.io#":                      "no name",
		"nvcr.io:0#a":                   "port",
		"nvcr.io:99999#a":               "port",
		"-x.org#a":                      "no host",
		"x..org/a":                      "no host",
		"[::1#a":                        "no host",
		"a#b#c":                         "not valid in the name",
		"a...b":                         "not valid in the name",
		"a___b":                         "not valid in the name",
		"a\nb":                          "control",
		"./a\x00":                       "control",
		"\xff":                          "UTF-8",
		strings.Repeat("a", 256):        "more than 255",
		"/" + strings.Repeat("a", 5000): "more than 4096",
	} {
		got, err := name.Parse(text)
		bad, is := errors.AsType[*name.Error](err)
		if !is || !strings.Contains(err.Error(), says) || got != (name.Name{}) || bad.Remedy == "" || bad.Reason == "" {
			t.Errorf("%q: %+v, %v; want %q", text, got, err, says)
		}
	}
}

func TestWithDigest(t *testing.T) {
	t.Parallel()
	n, err := name.Parse("ubuntu:24.04")
	if err != nil || n.Pinned() {
		t.Fatal(n, err)
	}
	if p := n.WithDigest(digest); !p.Pinned() || p.String() != "ubuntu:24.04@"+digest || n.Pinned() {
		t.Error(p, n)
	}
}

// Whatever is read comes back the same from its text.
func FuzzParse(f *testing.F) {
	for _, text := range []string{"ubuntu", "me@r.org:5000#a/b:c@" + digest, "docker://nvcr.io/a", "./x", "docker.io#library/x.tar", "docker.io#a.b/c", "a@b@c#d"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		n, err := name.Parse(text)
		if err != nil {
			return
		}
		if again, err := name.Parse(n.String()); err != nil || again != n {
			t.Fatalf("%q is %+v, written as %q, which is %+v, %v", text, n, n.String(), again, err)
		}
	})
}
