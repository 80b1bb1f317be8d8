// Package access reads the documents that say who may do what: keys of the API, the groups of an identity provider, and the rules on what
// jobs may run. A document is a file of its own or a section of the settings. Errors name the line, and never a key.
package access

import (
	"errors"
	"io"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// inFile puts a file's name before each of the errors that are joined in one.
func inFile(path string, err error) error {
	all := config.Each(err)
	for i, one := range all {
		all[i] = cmdline.Usage("%s: %w", path, one)
	}
	return errors.Join(all...)
}

// lastDocument refuses a second document, which would be ignored otherwise.
func lastDocument(d *yaml.Decoder) error {
	if err := d.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return errors.New("a second document follows the first; leave one")
	}
	return nil
}
