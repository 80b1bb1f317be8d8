package store

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
)

// stored is a layer with a content and a checksum of its own.
type stored struct {
	v1.Layer

	diff v1.Hash
}

func (s stored) DiffID() (v1.Hash, error) { return s.diff, nil }

// A registry may keep what its digest promises, and that may still be no whole layer: only the end of the stream shows it.
func TestCompression(t *testing.T) {
	t.Parallel()
	text := tarred(t, file{name: "a", text: "1"})
	diff, _, err := v1.SHA256(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	encoder, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	gz := zipped(t, text)
	wrongSum := bytes.Clone(gz)
	wrongSum[len(wrongSum)-8] ^= 1
	for what, test := range map[string]struct {
		content []byte
		kind    types.MediaType
		diff    v1.Hash
		says    string
	}{
		"gzip":           {gz, types.OCILayer, diff, ""},
		"zstd":           {encoder.EncodeAll(text, nil), types.OCILayerZStd, diff, ""},
		"none":           {text, types.OCIUncompressedLayer, diff, ""},
		"gzip, cut":      {gz[:len(gz)-6], types.OCILayer, diff, "EOF"},
		"gzip, checksum": {wrongSum, types.OCILayer, diff, "checksum"},
		"other content":  {gz, types.OCILayer, v1.Hash{Algorithm: "sha256", Hex: strings.Repeat("0", 64)}, "as the image's configuration has it"},
		"bzip2":          {[]byte("BZh91AY&SY"), types.OCILayer, diff, "bzip2"},
		"no tar":         {[]byte(strings.Repeat("no tar at all ", 100)), types.OCIUncompressedLayer, diff, "cannot be unpacked"},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, shelf := opened(t), newShelf()
				s.transport = inMemory{shelf}
				img, err := mutate.AppendLayers(mutate.MediaType(empty.Image, types.OCIManifestSchema1),
					stored{static.NewLayer(test.content, test.kind), test.diff})
				if err != nil {
					t.Fatal(err)
				}
				got, err := s.Fetch(t.Context(), shelf.put(t, "v1", configured(t, img, "")), nil)
				switch {
				case test.says == "" && (err != nil || !slices.Equal(tree(t, got.Root), []string{"-755 a=1"})):
					t.Error(got, err)
				case test.says != "" && (kindOf(err) != BadImage || !strings.Contains(err.Error(), test.says) || len(there(t, s)) > 0):
					t.Errorf("%+v, %v", got, err)
				}
			})
		})
	}
}
