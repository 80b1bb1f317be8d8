package store

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	registry "github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
)

// dockerTar returns images as docker save writes them.
func dockerTar(t *testing.T, images ...v1.Image) []byte {
	t.Helper()
	all := map[registry.Tag]v1.Image{}
	for i, img := range images {
		tag, err := registry.NewTag("team/image:v" + string(rune('1'+i)))
		if err != nil {
			t.Fatal(err)
		}
		all[tag] = img
	}
	var b bytes.Buffer
	if err := tarball.MultiWrite(all, &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// ociTar returns an index as an image layout in a tar.
func ociTar(t *testing.T, index v1.ImageIndex) []byte {
	t.Helper()
	folder := t.TempDir()
	if _, err := layout.Write(folder, index); err != nil {
		t.Fatal(err)
	}
	var files []file
	for _, name := range []string{"oci-layout", "index.json"} {
		files = append(files, fileAt(t, folder, name))
	}
	blobs, err := filepath.Glob(filepath.Join(folder, "blobs", "sha256", "*"))
	if err != nil {
		t.Fatal(err)
	}
	for _, blob := range blobs {
		at, _ := filepath.Rel(folder, blob)
		files = append(files, fileAt(t, folder, at))
	}
	return tarred(t, files...)
}

func fileAt(t *testing.T, folder, at string) file {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, at))
	if err != nil {
		t.Fatal(err)
	}
	return file{name: "./" + at, text: string(text)}
}

func written(t *testing.T, file string, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), file)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Archives of docker and OCI are images, with and without compression, whatever their names are.
func TestArchive(t *testing.T) {
	t.Parallel()
	same := tarred(t, file{name: "a", text: "1"})
	img := image(t, same, tarred(t, file{name: "b", text: "2"}), same)
	index := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})
	nested := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: index})
	for what, text := range map[string][]byte{
		"docker": dockerTar(t, img), "oci": ociTar(t, index), "nested": ociTar(t, nested), "docker.gz": zipped(t, dockerTar(t, img)), "oci.gz": zipped(t, ociTar(t, index)),
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			s, path := opened(t), written(t, "x.tar", text)
			got, err := s.Fetch(t.Context(), named(t, path), nil)
			if err != nil {
				t.Fatal(err)
			}
			if files := tree(t, got.Root); !slices.Equal(files, []string{"-755 a=1", "-755 b=2"}) || got.Config.Workdir != "/w" || !strings.HasPrefix(got.Digest, fileKey) {
				t.Errorf("%q, %+v", files, got)
			}
			again, err := s.Fetch(t.Context(), named(t, path), nil)
			if err != nil || !reflect.DeepEqual(again, got) {
				t.Error(again, err)
			}
			later := time.Now().Add(time.Hour)
			if err := os.Chtimes(path, later, later); err != nil {
				t.Fatal(err)
			}
			if again, err = s.Fetch(t.Context(), named(t, path), nil); err != nil || again.Root == got.Root {
				t.Errorf("a file that was written again is %+v, %v", again, err)
			}
			if gone, err := s.Remove(path); err != nil || len(gone) != 2 {
				t.Error(gone, err)
			}
		})
	}
}

// legacy returns an archive as older versions of docker wrote it: layers are links to others with the same content.
func TestArchiveWithLinks(t *testing.T) {
	t.Parallel()
	layer := tarred(t, file{name: "a", text: "1"})
	config, err := image(t, layer, layer).RawConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	text := tarred(t, file{name: "c.json", text: string(config)}, file{name: "one/layer.tar", text: string(layer)}, file{name: "two/layer.tar", kind: '2', text: "../one/layer.tar"},
		file{name: "loop", kind: '2', text: "loop"}, file{name: "manifest.json", text: `[{"Config":"c.json","Layers":["one/layer.tar","two/layer.tar"]}]`})
	s := opened(t)
	got, err := s.Fetch(t.Context(), named(t, written(t, "x", text)), nil)
	if err != nil || len(tree(t, got.Root)) != 1 {
		t.Error(got, err)
	}
}

// Files that are no image are refused with what is wrong with them, and for good.
func TestWrongFile(t *testing.T) {
	t.Parallel()
	img := simple(t)
	whole := dockerTar(t, img)
	two := mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img}, mutate.IndexAddendum{Add: image(t, tarred(t, file{name: "z"}))})
	hurt := bytes.Replace(ociTar(t, mutate.AppendManifests(empty.Index, mutate.IndexAddendum{Add: img})), []byte(`"linux"`), []byte(`"linuX"`), 1)
	for what, test := range map[string]struct {
		text []byte
		kind Kind
		says string
	}{
		"empty":          {nil, BadFile, "empty"},
		"text":           {[]byte("hello, this is no archive at all"), BadFile, "cannot be read"},
		"cut":            {whole[:len(whole)-1500], BadFile, ""},
		"cut gzip":       {zipped(t, whole)[:300], BadFile, "cannot be read"},
		"other tar":      {tarred(t, file{name: "a"}), BadFile, "neither index.json nor manifest.json"},
		"two images":     {dockerTar(t, img, configured(t, img, "s390x")), BadFile, "2 images"},
		"two of OCI":     {ociTar(t, two), BadFile, "2 images"},
		"foreign":        {dockerTar(t, configured(t, img, "s390x")), Platform, "linux/s390x"},
		"damaged config": {hurt, BadFile, "damaged"},
		"no blob":        {tarred(t, file{name: "index.json", text: `{"schemaVersion":2,"manifests":[{"mediaType":"application/vnd.oci.image.manifest.v1+json","size":3,"digest":"sha256:` + strings.Repeat("1", 64) + `"}]}`}), BadFile, "has no file blobs"},
		"other layer":    {bytes.Replace(whole, []byte("world"), []byte("w0rld"), 1), BadFile, ""},
		"no squashfs":    {[]byte("hsqs" + strings.Repeat("x", 200)), BadFile, "unsquashfs"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			if what == "no squashfs" {
				needsSquashfs(t)
			}
			s := opened(t)
			got, err := s.Fetch(t.Context(), named(t, written(t, "x.sqsh", test.text)), nil)
			if what == "other layer" && !bytes.Contains(whole, []byte("world")) { // compressed
				return
			}
			if kindOf(err) != test.kind || Later(err) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%+v, %v", got, err)
			}
			if all, err := s.List(); len(all) > 0 || err != nil || len(left(t, s)) > 0 {
				t.Errorf("%v, %v, %q", all, err, left(t, s))
			}
		})
	}
}

func TestWrongPath(t *testing.T) {
	t.Parallel()
	s := opened(t)
	locked := written(t, "x", []byte("hsqs"))
	if err := os.Chmod(locked, 0); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]Kind{"/nonexistent/x.sqsh": NotFound, locked + "/y": NotFound, "/dev/null": BadFile, locked: Denied} {
		if path == locked && os.Geteuid() == 0 {
			continue // root may read it
		}
		if _, err := s.Fetch(t.Context(), named(t, path), nil); kindOf(err) != want || Later(err) {
			t.Errorf("%s: %v", path, err)
		}
	}
	if _, err := s.Resolve(t.Context(), named(t, "/nonexistent/x")); kindOf(err) != NotFound {
		t.Error(err)
	}
	t.Run("relative", func(t *testing.T) {
		n, err := s.Resolve(t.Context(), named(t, "./file_test.go"))
		if err != nil || !filepath.IsAbs(n.Path) || filepath.Base(n.Path) != "file_test.go" {
			t.Error(n, err)
		}
	})
}

// A folder is used where it is, with what enroot's files in it say.
func TestFolder(t *testing.T) {
	t.Parallel()
	s, root := opened(t), t.TempDir()
	got, err := s.Fetch(t.Context(), named(t, root), nil)
	if err != nil || got.Root != root || got.Lock != "" || got.Digest != "" || !reflect.DeepEqual(got.Config, Config{}) {
		t.Error(got, err)
	}
	if err := errors.Join(
		os.Mkdir(filepath.Join(root, "etc"), 0o700),
		os.WriteFile(filepath.Join(root, "etc", "environment"), []byte("PATH=\"/bin\"\n# a comment\n\nX=a b=c\nno line\n=x\nE=\n"), 0o600),
		os.WriteFile(filepath.Join(root, "etc", "rc"), []byte(" \n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	got, err = s.Fetch(t.Context(), named(t, root), nil)
	if want := []string{"PATH=/bin", "X=a b=c", "E="}; err != nil || !slices.Equal(got.Config.Env, want) || got.Config.Entrypoint != nil {
		t.Errorf("%+v, %v", got, err)
	}
	secret := written(t, "secret", []byte("A=b"))
	if err := errors.Join(
		os.Remove(filepath.Join(root, "etc", "environment")), os.Symlink(secret, filepath.Join(root, "etc", "environment")),
		os.WriteFile(filepath.Join(root, "etc", "rc"), []byte("exec \"$@\"\n"), 0o600),
	); err != nil {
		t.Fatal(err)
	}
	got, err = s.Fetch(t.Context(), named(t, root), nil)
	if err != nil || got.Config.Env != nil || !slices.Equal(got.Config.Entrypoint, []string{"/etc/rc"}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func needsSquashfs(t *testing.T) {
	t.Helper()
	for _, program := range []string{"mksquashfs", unsquashfs} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip("needs mksquashfs and unsquashfs, Debian's package squashfs-tools")
		}
	}
}

// A squashfs file as enroot writes it, with what no user could unpack as it is.
func TestSquashfs(t *testing.T) {
	t.Parallel()
	needsSquashfs(t)
	from := t.TempDir()
	for path, text := range map[string]string{"etc/environment": "A=1\nB=two words\n", "etc/rc": "exec \"$@\"\n", "bin/su": "x", "ro/in/f": "y"} {
		path = filepath.Join(from, path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o755)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(
		os.Symlink("/etc/passwd", filepath.Join(from, "link")), os.Link(filepath.Join(from, "bin/su"), filepath.Join(from, "bin/sudo")),
		os.Chmod(filepath.Join(from, "bin/su"), 0o755|os.ModeSetuid), os.Chmod(filepath.Join(from, "ro/in"), 0o555), os.Chmod(filepath.Join(from, "ro"), 0o555),
	); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = errors.Join(os.Chmod(filepath.Join(from, "ro"), 0o755), os.Chmod(filepath.Join(from, "ro/in"), 0o755))
	})
	path := filepath.Join(t.TempDir(), "image.sqsh")
	command := exec.CommandContext(t.Context(), "mksquashfs", from, path, "-noappend", "-no-progress", "-force-uid", "12345", "-force-gid", "54321",
		"-p", "dev d 755 0 0", "-p", "dev/null c 666 0 0 1 3", "-p", "dev/sda b 660 0 0 8 0")
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	s := opened(t)
	var phases []Phase
	got, err := s.Fetch(t.Context(), named(t, path), func(p Progress) { phases = append(phases, p.Phase) })
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"d755 bin", "-755 bin/su=x", "-755 bin/sudo=x", "d755 dev", "d755 etc", "-755 etc/environment=A=1\nB=two words\n", "-755 etc/rc=exec \"$@\"\n",
		"l link>/etc/passwd", "d755 ro", "d755 ro/in", "-755 ro/in/f=y",
	}
	if files := tree(t, got.Root); !slices.Equal(files, want) {
		t.Errorf("\n%q, want\n%q", files, want)
	}
	if c := (Config{Env: []string{"A=1", "B=two words"}, Entrypoint: []string{"/etc/rc"}}); !reflect.DeepEqual(got.Config, c) || !slices.Contains(phases, Unpacking) {
		t.Errorf("%+v, %v", got.Config, phases)
	}
	if info, err := os.Stat(filepath.Join(got.Root, "bin/su")); err != nil || !os.SameFile(info, stat(t, filepath.Join(got.Root, "bin/sudo"))) {
		t.Error("the hard link is another file", err)
	}
	if _, err := s.Remove(path); err != nil || len(left(t, s)) > 0 {
		t.Error(err, left(t, s))
	}
}

func stat(t *testing.T, path string) os.FileInfo {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	return info
}
