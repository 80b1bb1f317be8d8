// Package name reads and writes the names of container images, in the forms of --container-image of Slurm's plug-in pyxis
// and of enroot: an image of a registry, a file or a folder.
//
//	ubuntu:24.04                                     Docker Hub, library/ubuntu
//	nvidia/cuda:12.6.0-base-ubuntu24.04              Docker Hub
//	nvcr.io#nvidia/pytorch:24.01-py3                 another registry
//	nvcr.io/nvidia/pytorch:24.01-py3                 the same, as docker writes it
//	user@registry.example.org:5000#team/image        with a login for the registry
//	docker://nvcr.io#nvidia/pytorch@sha256:...       enroot's form; an image by its digest
//	/data/images/pytorch.sqsh, ./image.tar, ../root  a squashfs file, an archive of docker or OCI, a folder
//
//berth:single
package name

import "strings"

// DockerHub is the registry of names without one.
const DockerHub = "registry-1.docker.io"

// DefaultTag is the tag of a name with neither tag nor digest.
const DefaultTag = "latest"

// official is the folder of Docker Hub's images whose names have no folder.
const official = "library/"

// Name is the name of an image: of a registry, or the path of a file or folder.
type Name struct {
	Path string // of a file or folder, as it was given: begins with /, ./ or ../. The other fields are empty then.

	User       string // the login for the registry; empty: the first that is known
	Registry   string // host or host:port; DockerHub if none was given
	Repository string // such as nvidia/cuda; of Docker Hub with its folder, as in library/ubuntu
	Tag        string // empty if the name has only a digest
	Digest     string // sha256: and 64 hexadecimal digits, or empty. An image is found by the digest if the name has both.
}

// IsPath reports whether the name is the path of a file or folder.
func (n Name) IsPath() bool { return n.Path != "" }

// Pinned reports whether the name means one and the same image at all times: it has a digest.
func (n Name) Pinned() bool { return n.Digest != "" }

// WithDigest returns the name of the same image with this digest.
func (n Name) WithDigest(digest string) Name {
	n.Digest = digest
	return n
}

// String returns the name in a form from which Parse returns the same name. The form is also one of pyxis, unless the name
// has both a tag and a digest.
func (n Name) String() string {
	if n.IsPath() {
		return n.Path
	}
	var b strings.Builder
	if n.User != "" {
		b.WriteString(n.User + "@")
	}
	short, isOfficial := strings.CutPrefix(n.Repository, official)
	first, _, nested := strings.Cut(n.Repository, "/")
	switch {
	case n.Registry != DockerHub || n.User != "" || nested && isHost(first) || isFile(n.Repository):
		b.WriteString(n.Registry + "#" + n.Repository)
	case isOfficial && !strings.Contains(short, "/"):
		b.WriteString(short)
	default:
		b.WriteString(n.Repository)
	}
	if n.Tag != "" {
		b.WriteString(":" + n.Tag)
	}
	if n.Digest != "" {
		b.WriteString("@" + n.Digest)
	}
	return b.String()
}

// isHost reports whether the first part of a name is a registry by docker's rule: a folder of Docker Hub has neither a
// dot nor a colon and is not localhost.
func isHost(part string) bool {
	return strings.ContainsAny(part, ".:") || part == "localhost"
}

// isPath reports whether a value of --container-image is a path.
func isPath(text string) bool {
	return text == "." || text == ".." || strings.HasPrefix(text, "/") || strings.HasPrefix(text, "./") || strings.HasPrefix(text, "../")
}

// isFile reports whether a text ends as the names of image files do.
func isFile(text string) bool {
	for _, end := range []string{".sqsh", ".squashfs", ".sqfs", ".tar", ".tar.gz", ".tgz"} {
		if strings.HasSuffix(strings.ToLower(text), end) {
			return true
		}
	}
	return false
}
