package backup

import (
	"encoding/json"
	"io"
)

// Relay copies a backup, whose keys are sealed to one opener, and seals them to something else. All parts are checked
// against their hashes on the way: what Relay has returned without an error is complete. The passphrase of a seal need not
// be known to the writer of the backup therefore.
func Relay(w io.Writer, r io.Reader, by Opener, to *Seal) (*Description, error) {
	in, err := newReader(r)
	if err != nil {
		return nil, err
	}
	defer in.zip.Close()
	d, err := in.description()
	if err != nil {
		return nil, err
	}
	was := d.Keys
	d.Keys = to.names
	description, err := json.MarshalIndent(d, "", "  ")
	if err != nil {
		return nil, err
	}
	out, err := newWriter(w, d.Made)
	if err != nil {
		return nil, err
	}
	if err := out.bytes(partDescription, append(description, '\n')); err != nil {
		return nil, err
	}
	for {
		h, err := in.header()
		if err != nil {
			return nil, err
		}
		switch h.Name {
		case partSums:
			signature, _, err := in.sums(d)
			if err != nil {
				return nil, err
			}
			return d, out.end(func([]byte) ([]byte, error) { return signature, nil })
		case partKeys:
			err = in.reseal(out, was, by, to)
		default:
			err = out.part(h.Name, h.Size, func(w io.Writer) error {
				_, err := io.Copy(w, in.rest)
				return err
			})
		}
		if err != nil {
			return nil, err
		}
		if err := in.done(h.Name); err != nil {
			return nil, err
		}
	}
}

// reseal copies the keys under another seal.
func (in *reader) reseal(out *writer, was []string, by Opener, to *Seal) error {
	file, err := in.all(maxKeys)
	if err != nil || to.None() {
		return err
	}
	text, err := openText(file, was, by)
	if err != nil {
		return err
	}
	if file, err = to.sealText(text); err != nil {
		return err
	}
	return out.bytes(partKeys, file)
}
