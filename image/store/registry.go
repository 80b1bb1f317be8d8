package store

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	registry "github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/berth-gpu/berth/image/name"
)

// userAgent is how requests to registries name this program.
const userAgent = "berth"

// maxManifest bounds manifests and configurations, in bytes.
const maxManifest = 16 << 20

// reader reads one image of a registry.
type reader struct {
	name   name.Name
	repo   registry.Repository
	auth   login
	next   http.RoundTripper
	puller *remote.Puller
}

// reader returns a reader of an image, with the login that is known for its registry.
func (s *Store) reader(ctx context.Context, n name.Name) (*reader, error) {
	var options []registry.Option
	if isLoopback(n.Registry) {
		options = append(options, registry.Insecure)
	}
	host, err := registry.NewRegistry(n.Registry, options...)
	if err != nil {
		return nil, failed(NotFound, "check the name", "%s is no registry: %s", n.Registry, plain(err))
	}
	r := &reader{name: n, repo: host.Repo(n.Repository), next: s.transport}
	r.auth, err = s.credentials.find(ctx, n, host, &watched{next: s.transport})
	return r, err
}

// connect begins a conversation with the registry. What failed once is not asked again in the same one.
func (r *reader) connect() error {
	p, err := remote.NewPuller(
		remote.WithTransport(&watched{next: r.next, host: r.auth.host}), remote.WithAuth(r.auth), remote.WithUserAgent(userAgent),
		remote.WithJobs(parallel),
		// Tries are counted here, with longer waits than the library's.
		remote.WithRetryBackoff(remote.Backoff{Steps: 1}), remote.WithRetryStatusCodes(),
		remote.WithRetryPredicate(func(error) bool { return false }),
	)
	r.puller = p
	return err
}

// reference returns the name by which the registry is asked.
func (r *reader) reference() registry.Reference {
	if r.name.Pinned() {
		return r.repo.Digest(r.name.Digest)
	}
	return r.repo.Tag(r.name.Tag)
}

// source returns the image for this machine's platform.
func (r *reader) source(ctx context.Context) (*source, error) {
	var out *source
	err := try(ctx, func() (err error) {
		if err = r.connect(); err != nil {
			return err
		}
		out, err = r.read(ctx, r.reference(), 0)
		return err
	})
	return out, err
}

// read follows indexes to the manifest for this platform.
func (r *reader) read(ctx context.Context, ref registry.Reference, nested int) (*source, error) {
	d, err := r.puller.Get(ctx, ref)
	if err != nil {
		return nil, err
	}
	if !d.MediaType.IsIndex() {
		return r.image(ctx, d)
	}
	index, err := v1.ParseIndexManifest(bytes.NewReader(d.Manifest))
	if err != nil {
		return nil, failed(BadImage, "name another image", "its index cannot be read: %s", plain(err))
	}
	if nested == maxNested {
		return nil, failed(BadImage, "name another image", "its indexes are nested more than %d times", maxNested)
	}
	chosen, err := choose(index)
	if err != nil {
		return nil, err
	}
	return r.read(ctx, r.repo.Digest(chosen.Digest.String()), nested+1)
}

// image reads a manifest and the configuration that it names.
func (r *reader) image(ctx context.Context, d *remote.Descriptor) (*source, error) {
	if !d.MediaType.IsImage() {
		return nil, failed(BadImage, "name a container image, of docker's schema 2 or of OCI", "it is of the type %q, which is no image", d.MediaType)
	}
	manifest, err := v1.ParseManifest(bytes.NewReader(d.Manifest))
	if err != nil {
		return nil, failed(BadImage, "name another image", "its manifest cannot be read: %s", plain(err))
	}
	blob, err := r.blob(ctx, manifest.Config.Digest)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(io.LimitReader(blob, maxManifest))
	if err := errors.Join(err, blob.Close()); err != nil {
		return nil, err
	}
	config, err := v1.ParseConfigFile(bytes.NewReader(text))
	if err != nil {
		return nil, failed(BadImage, "name a container image", "its configuration cannot be read: %s", plain(err))
	}
	if err := checkConfig(config, len(manifest.Layers)); err != nil {
		return nil, err
	}
	out := &source{digest: d.Digest.String(), config: config}
	for i, l := range manifest.Layers {
		out.layers = append(out.layers, layer{
			diff: config.RootFS.DiffIDs[i], digest: l.Digest, size: l.Size, remote: true,
			open: func(ctx context.Context) (io.ReadCloser, error) { return r.blob(ctx, l.Digest) },
		})
	}
	return out, nil
}

// blob returns the content of a blob. What is read is compared with the digest when the last byte has been read.
func (r *reader) blob(ctx context.Context, digest v1.Hash) (io.ReadCloser, error) {
	l, err := r.puller.Layer(ctx, r.repo.Digest(digest.String()))
	if err != nil {
		return nil, err
	}
	return l.Compressed()
}
