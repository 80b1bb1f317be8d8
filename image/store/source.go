package store

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// source is an image that can be unpacked: its layers in order, the lowest first.
type source struct {
	digest string // of the manifest
	config *v1.ConfigFile
	layers []layer
}

// layer is one layer of an image.
type layer struct {
	diff   v1.Hash // of the layer without compression
	digest v1.Hash // of the layer as it is stored
	size   int64   // in bytes, as it is stored
	open   func(context.Context) (io.ReadCloser, error)
	remote bool // it comes from a registry: it is downloaded before it is applied
}

// size returns the bytes of all layers as they are stored.
func (s *source) size() int64 {
	var n int64
	for _, l := range s.layers {
		n += l.size
	}
	return n
}

// ofConfig returns what the image's configuration says about processes.
func ofConfig(c *v1.ConfigFile) Config {
	return Config{Env: c.Config.Env, Workdir: c.Config.WorkingDir, Entrypoint: c.Config.Entrypoint, Cmd: c.Config.Cmd}
}

// checkConfig refuses an image for other machines than this one, and an artifact that is no image.
func checkConfig(c *v1.ConfigFile, layers int) error {
	if len(c.RootFS.DiffIDs) != layers || layers == 0 {
		return failed(BadImage, "name an image with a root file system", "it has %d layers and the checksums of %d: it is no container image", layers, len(c.RootFS.DiffIDs))
	}
	if c.OS != "" && c.OS != "linux" || c.Architecture != "" && c.Architecture != runtime.GOARCH {
		return wrongPlatform([]string{c.OS + "/" + c.Architecture})
	}
	return nil
}

func wrongPlatform(has []string) error {
	slices.Sort(has)
	return failed(Platform, "use an image for this platform, or a node of the image's", "it is for %s, and this machine is linux/%s", strings.Join(slices.Compact(has), ", "), runtime.GOARCH)
}

// maxNested bounds how many indexes lead to an image.
const maxNested = 3

// choose returns the manifest for this machine's platform out of an index. Without a variant of the processor is
// preferred, then the lowest variant, which all processors of the architecture run.
func choose(index *v1.IndexManifest) (v1.Descriptor, error) {
	var fit []v1.Descriptor
	var has []string
	for _, d := range index.Manifests {
		if !d.MediaType.IsImage() && !d.MediaType.IsIndex() {
			continue
		}
		p := d.Platform
		switch {
		case p == nil || p.OS == "" && p.Architecture == "":
			fit = append(fit, d) // the image's own configuration has the platform
		case p.OS == "linux" && p.Architecture == runtime.GOARCH:
			fit = append(fit, d)
		case p.OS != "unknown": // attestations
			has = append(has, platformText(p))
		}
	}
	if len(fit) == 0 {
		if len(has) == 0 {
			return v1.Descriptor{}, failed(BadImage, "name an image with a root file system", "its index has no image")
		}
		return v1.Descriptor{}, wrongPlatform(has)
	}
	return slices.MinFunc(fit, func(a, b v1.Descriptor) int {
		return cmp.Or(cmp.Compare(rank(a.Platform), rank(b.Platform)), cmp.Compare(variant(a.Platform), variant(b.Platform)))
	}), nil
}

// rank orders manifests of an index: those that name this platform first.
func rank(p *v1.Platform) int {
	if p == nil || p.OS == "" {
		return 1
	}
	return 0
}

func variant(p *v1.Platform) string {
	if p == nil {
		return ""
	}
	return p.Variant
}

func platformText(p *v1.Platform) string {
	text := fmt.Sprintf("%s/%s", p.OS, p.Architecture)
	if p.Variant != "" {
		text += "/" + p.Variant
	}
	return text
}
