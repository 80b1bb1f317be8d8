package trust

import (
	"crypto/tls"
	"fmt"
	"os"
	"sync"
	"time"
)

// PublicFiles are a certificate chain and its key in files, which others renew: they are read again when they change.
type PublicFiles struct {
	chain, key string

	mu      sync.Mutex
	read    [2]time.Time // when the files were changed that were read
	current *tls.Certificate
	failed  [2]time.Time    // of files that could not be used
	report  func(err error) // see OnFailure
}

// OnFailure calls f once for each change of the files after which they cannot be used.
func (p *PublicFiles) OnFailure(f func(err error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.report = f
}

// OpenPublic reads a certificate chain and its key. Its error names the files.
func OpenPublic(chain, key string) (*PublicFiles, error) {
	p := &PublicFiles{chain: chain, key: key}
	_, err := p.Certificate()
	return p, err
}

// Certificate returns the certificate in the files. While they cannot be read, as in the middle of a renewal, it is the
// former one.
func (p *PublicFiles) Certificate() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var changed [2]time.Time
	for i, path := range []string{p.chain, p.key} {
		if info, err := os.Stat(path); err == nil {
			changed[i] = info.ModTime()
		}
	}
	if p.current != nil && changed == p.read {
		return p.current, nil
	}
	next, err := tls.LoadX509KeyPair(p.chain, p.key)
	switch {
	case err == nil:
		p.current, p.read = &next, changed
	case p.current == nil:
		return nil, p.unusable(err)
	case changed != p.failed && p.report != nil:
		p.failed = changed
		p.report(p.unusable(err))
	}
	return p.current, nil
}

func (p *PublicFiles) unusable(err error) error {
	return fmt.Errorf("the certificate of the API in %s and its key in %s cannot be used: %w", p.chain, p.key, err)
}
