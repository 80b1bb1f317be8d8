package name

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of names, in bytes. Those of repositories and tags are of the OCI distribution specification.
const (
	MaxName       = 4096
	maxRepository = 255
	maxTag        = 128
	digestLength  = 64
	digestKind    = "sha256"
)

// Error is the error of a text that is no name of an image.
type Error struct {
	Text   string // that was given, at most 200 bytes of it
	Reason string // why it is no name
	Remedy string // what to write
}

func (e *Error) Error() string {
	return fmt.Sprintf("the image %q %s: %s", e.Text, e.Reason, e.Remedy)
}

const forms = "write [USER@][REGISTRY#]IMAGE[:TAG], or the path of a file or folder that begins with / or ./"

// Check returns why a text is no name of an image; nil: Parse reads the text.
func Check(text string) error {
	_, err := Parse(text)
	return err
}

// Parse returns the image that a value of --container-image names. A name without tag and digest has the tag latest. The
// error is an *Error.
func Parse(text string) (Name, error) {
	p := parser{text: text}
	n, ok := p.parse()
	if !ok {
		return Name{}, p.err
	}
	return n, nil
}

// parser keeps the whole text and the first fault that was found in it.
type parser struct {
	text string
	err  *Error
}

func (p *parser) fail(remedy, reason string, args ...any) bool {
	if p.err == nil {
		text := strings.ToValidUTF8(p.text, "?")
		if len(text) > 200 {
			text = strings.ToValidUTF8(text[:200], "") + "..."
		}
		p.err = &Error{Text: text, Reason: fmt.Sprintf(reason, args...), Remedy: remedy}
	}
	return false
}

func (p *parser) parse() (Name, bool) {
	switch {
	case p.text == "":
		return Name{}, p.fail(forms, "is empty")
	case len(p.text) > MaxName:
		return Name{}, p.fail(forms, "has %d bytes, more than %d", len(p.text), MaxName)
	case !utf8.ValidString(p.text):
		return Name{}, p.fail(forms, "is not valid UTF-8")
	case strings.ContainsFunc(p.text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return Name{}, p.fail(forms, "contains a control character")
	case isPath(p.text):
		return Name{Path: p.text}, true
	}
	rest, ok := p.scheme(p.text)
	if !ok {
		return Name{}, false
	}
	var n Name
	if rest, n.Digest, ok = p.cutDigest(rest); !ok {
		return Name{}, false
	}
	image, given := p.cutRegistry(rest, &n)
	if !given {
		return Name{}, false
	}
	if n.Repository, n.Tag, ok = p.cutTag(image, n.Digest != ""); !ok {
		return Name{}, false
	}
	return n, p.complete(&n)
}

// scheme removes enroot's docker:// and refuses others.
func (p *parser) scheme(text string) (string, bool) {
	kind, rest, has := strings.Cut(text, "://")
	switch {
	case !has:
		return text, true
	case kind == "docker":
		if isPath(rest) {
			return "", p.fail("write "+rest, "is a path after docker://")
		}
		return rest, true
	case kind == "dockerd", kind == "podman":
		return "", p.fail("push the image to a registry and name it as REGISTRY#IMAGE:TAG, or write it to a file with docker save -o image.tar IMAGE and name that as ./image.tar",
			"is to be taken from a daemon on the node (%s://), which Berth does not use", kind)
	case kind == "http", kind == "https":
		return "", p.fail("write REGISTRY#IMAGE:TAG, without "+kind+"://", "is a URL")
	}
	return "", p.fail(forms, "begins with %s://, which is not known", kind)
}

// cutDigest returns what stands before a digest, and the digest.
func (p *parser) cutDigest(text string) (rest, digest string, ok bool) {
	at := strings.LastIndexByte(text, '@')
	if at < 0 {
		return text, "", true
	}
	last := text[at+1:]
	kind, hex, has := strings.Cut(last, ":")
	isKind := strings.HasPrefix(kind, "sha") && strings.Trim(kind[len("sha"):], "0123456789") == "" && kind != "sha"
	if !has || !isKind || strings.ContainsAny(hex, "/#:") {
		return text, "", true // a user and an image
	}
	if kind != digestKind || len(hex) != digestLength || strings.Trim(hex, "0123456789abcdef") != "" {
		return "", "", p.fail("write IMAGE@sha256:... with the digest that the registry shows, or IMAGE:TAG",
			"has the digest %q; a digest is sha256: and %d hexadecimal digits", last, digestLength)
	}
	return text[:at], last, true
}

// cutRegistry reads the user and the registry into n, and returns the image.
func (p *parser) cutRegistry(text string, n *Name) (image string, ok bool) {
	before, image, explicit := strings.Cut(text, "#")
	if !explicit {
		before, image = "", text
	}
	with := image
	if explicit {
		with = before
	}
	if at := strings.LastIndexByte(with, '@'); at >= 0 {
		n.User, with = with[:at], with[at+1:]
		if n.User == "" {
			return "", p.fail("write USER@IMAGE or IMAGE", "has no user before the @")
		}
		if strings.ContainsAny(n.User, "/# \t") {
			return "", p.fail(forms, "has the user %q, which contains a slash, a # or a space", n.User)
		}
	}
	if explicit {
		n.Registry = with
	} else {
		image = with
		if first, rest, nested := strings.Cut(image, "/"); nested && isHost(first) {
			n.Registry, image, explicit = first, rest, true
		}
	}
	if explicit {
		return image, p.registry(n)
	}
	n.Registry = DockerHub
	return image, true
}

// registry checks the host of a name.
func (p *parser) registry(n *Name) bool {
	const remedy = "write REGISTRY#IMAGE with a registry such as nvcr.io or localhost:5000"
	n.Registry = strings.ToLower(n.Registry)
	host, port := n.Registry, ""
	if at := strings.LastIndexByte(host, ':'); at > strings.LastIndexByte(host, ']') {
		host, port = host[:at], host[at+1:]
		if number, err := strconv.ParseUint(port, 10, 16); err != nil || number == 0 {
			return p.fail(remedy, "has the registry %q; its port is no number from 1 to 65535", n.Registry)
		}
	}
	if inside, is := strings.CutPrefix(host, "["); is {
		inside, closed := strings.CutSuffix(inside, "]")
		if address, err := netip.ParseAddr(inside); !closed || err != nil || !address.Is6() || address.Zone() != "" {
			return p.fail(remedy, "has the registry %q, which is no host", n.Registry)
		}
	} else if !validHost(host) {
		return p.fail(remedy, "has the registry %q, which is no host", n.Registry)
	}
	switch n.Registry {
	case "docker.io", "index.docker.io", "registry.hub.docker.com":
		n.Registry = DockerHub
	}
	return true
}

// validHost reports whether a text is a host name or an IPv4 address.
func validHost(host string) bool {
	if len(host) > 253 {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' || strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// cutTag divides repository and tag.
func (p *parser) cutTag(image string, hasDigest bool) (repository, tag string, ok bool) {
	repository, tag, has := strings.Cut(image, ":")
	switch {
	case has:
		if !validTag(tag) {
			return "", "", p.fail("write IMAGE:TAG, with a tag such as 24.01-py3",
				"has the tag %q; a tag is 1 to %d letters, digits, dots, underscores and hyphens, and begins with a letter, a digit or an underscore", tag, maxTag)
		}
	case !hasDigest:
		tag = DefaultTag
	}
	return repository, tag, true
}

func validTag(tag string) bool {
	if tag == "" || len(tag) > maxTag || tag[0] == '.' || tag[0] == '-' {
		return false
	}
	return !strings.ContainsFunc(tag, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && r != '_' && r != '.' && r != '-'
	})
}

// complete checks the repository, and adds the folder of Docker Hub's own images.
func (p *parser) complete(n *Name) bool {
	repository := n.Repository
	if repository == "" {
		return p.fail(forms, "has no name of an image")
	}
	if n.Registry == DockerHub && n.User == "" && isFile(repository) && !strings.Contains(p.text, "#") {
		return p.fail("write ./"+repository+" for a file", "reads as an image of Docker Hub, but ends as a file does")
	}
	for part := range strings.SplitSeq(repository, "/") {
		if validPart(part) {
			continue
		}
		remedy := "write names of lower case letters and digits, divided by single dots, underscores or hyphens"
		if lower := strings.ToLower(part); lower != part && validPart(lower) {
			remedy = "write " + strings.ToLower(repository) + ": registries know no upper case letters here"
		}
		return p.fail(remedy, "has the part %q, which is not valid in the name of an image", part)
	}
	if n.Registry == DockerHub && !strings.Contains(repository, "/") {
		n.Repository = official + repository
	}
	if len(n.Repository) > maxRepository {
		return p.fail("use a shorter name", "has a name of %d bytes, more than %d", len(n.Repository), maxRepository)
	}
	return true
}

// validPart reports whether a text is one part of a repository: lower case letters and digits, divided by a dot, one or
// two underscores, or hyphens.
func validPart(part string) bool {
	alnum := func(c byte) bool { return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' }
	if part == "" || !alnum(part[0]) || !alnum(part[len(part)-1]) {
		return false
	}
	for i := 0; i < len(part); {
		if alnum(part[i]) {
			i++
			continue
		}
		from := i
		for i < len(part) && !alnum(part[i]) {
			i++
		}
		between := part[from:i]
		if between != "." && between != "_" && between != "__" && strings.Trim(between, "-") != "" {
			return false
		}
	}
	return true
}
