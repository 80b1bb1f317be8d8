package inspect

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/berth-gpu/berth/cmd/internal/cli/bundle"
	"github.com/berth-gpu/berth/cmd/internal/cli/examine"
	"github.com/berth-gpu/berth/cmd/internal/doctor"
	"github.com/berth-gpu/berth/fsm/command"
	"github.com/berth-gpu/berth/node/runner/cgroup"
	"github.com/berth-gpu/berth/trust"
)

// Collect returns what berth support-bundle collects of this machine's roles, and the secrets of this machine.
func Collect(at *examine.Place) (out bundle.Collection) {
	for _, role := range at.Roles {
		m := open(at, role)
		out.Units = append(out.Units, doctor.Unit(role))
		if role == roleNode {
			out.Units = append(out.Units, cgroup.JobsUnit)
			out.Parts = append(out.Parts, bundle.Part{Name: "gpus.txt", What: "the GPUs, as their driver shows them", Collect: m.showGPUs})
		}
		out.Parts = append(out.Parts,
			bundle.Part{Name: "settings-" + role + ".txt", What: "the settings in force, without those that are secret", Collect: m.showSettings},
			bundle.Part{Name: "certificates-" + role + ".txt", What: "the certificates, without keys", Collect: m.showCertificates},
			bundle.Part{Name: "files-" + role + ".txt", What: "names, sizes and modes of the files in the data folder", Collect: m.showFiles})
		if role == rolePeer {
			out.Parts = append(out.Parts, m.profiles()...)
		}
		out.Secrets = append(out.Secrets, m.secrets()...)
	}
	return out
}

// showSettings lists each setting that is given, with its origin.
func (m *member) showSettings(context.Context) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "# file: %s\n# feature level of this program: %d\n", cmp.Or(m.file, "none"), command.Level)
	if m.settingsErr != nil {
		fmt.Fprintf(&b, "# wrong: %v\n", m.settingsErr)
	}
	rows := m.settings.Rows()
	for i := range rows {
		row := &rows[i]
		origin := m.settings.Origin(row.Name)
		where := origin.Layer.String()
		if origin.Where != "" {
			where = origin.Where
		}
		fmt.Fprintf(&b, "%s: %s  # %s\n", row.Name, row.Shown(), where)
	}
	return b.String(), nil
}

// showCertificates describes the certificate of this machine and those of authorities.
func (m *member) showCertificates(context.Context) (string, error) {
	if m.trustErr != nil {
		return "", m.trustErr
	}
	var b strings.Builder
	leaf := m.material.Certificate
	fmt.Fprintf(&b, "member: %s\nserial: %s\nfrom: %s\nuntil: %s\nnames: %s\ngeneration: %d\nrevision: %d\nkeys of authorities here: %d\n",
		m.keys.Own(), trust.Serial(leaf), leaf.NotBefore.Format(time.RFC3339), leaf.NotAfter.Format(time.RFC3339),
		strings.Join(trust.NamesOf(leaf), ", "),
		m.material.Generation, m.material.Revision, len(m.material.Keys))
	for _, a := range m.material.Authorities {
		pin := trust.PinOf(a)
		fmt.Fprintf(&b, "\nauthority of cluster %s\nserial: %s\nhash of its key: %x\nuntil: %s\n%s", trust.ClusterOf(a), trust.Serial(a), pin[:], a.NotAfter.Format(time.RFC3339), trust.EncodeCertificates(a))
	}
	return b.String(), nil
}

// mostFiles bounds the files that are listed. Folders of jobs may have any number, so they are listed without their content.
const mostFiles = 20_000

// deepest is how many folders deep files are listed.
const deepest = 3

// showFiles lists the data folder: modes, sizes, times and names, and no contents.
func (m *member) showFiles(context.Context) (string, error) {
	if m.data == "" {
		return "", m.settingsErr
	}
	var b strings.Builder
	many := 0
	err := filepath.WalkDir(m.data, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == m.data {
				return err
			}
			fmt.Fprintf(&b, "%v\n", err)
			return nil
		}
		if many++; many > mostFiles {
			fmt.Fprintf(&b, "(more than %d files)\n", mostFiles)
			return filepath.SkipAll
		}
		below, _ := filepath.Rel(m.data, path) // which is below by how it was found
		if info, err := d.Info(); err == nil {
			fmt.Fprintf(&b, "%s %12d %s %s\n", info.Mode(), info.Size(), info.ModTime().UTC().Format(time.RFC3339), below)
		}
		if d.IsDir() && strings.Count(below, string(filepath.Separator)) >= deepest-1 {
			return filepath.SkipDir
		}
		return nil
	})
	return b.String(), err
}

// showGPUs describes driver and GPUs.
func (m *member) showGPUs(context.Context) (string, error) {
	if d := m.driverSource(); d != nil {
		return doctor.GPUs(d)[0].Message + "\n", nil
	}
	about, err := Driver()
	if err != nil {
		return "", err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "driver: %s\n", about.Driver)
	for _, c := range about.Cards {
		fmt.Fprintf(&b, "\n%s\nmodel: %s\nPCI: %s\nmemory: %d MiB\npersistence mode: %s\nECC: %s\n", c.ID, c.Model, c.PCI, c.MemoryMB, cmp.Or(c.Persistence, "unknown"), cmp.Or(c.ECC, "unknown"))
		if c.Err != nil {
			fmt.Fprintf(&b, "error: %v\n", c.Err)
		}
		for _, p := range c.Processes {
			fmt.Fprintf(&b, "process: %s, %d MiB\n", stranger(&p), p.MemoryMB)
		}
	}
	return b.String(), nil
}

// secrets returns the secrets of this machine that have no form of their own: keys of the API.
func (m *member) secrets() (out []string) {
	if m.role != rolePeer {
		return nil
	}
	auth := &m.settings.Server.Auth
	out = append(out, keysOfAPI([]byte("{api_keys: "+cmp.Or(auth.Own, "{}")+"}"))...)
	if auth.Keys != "" {
		if text, err := os.ReadFile(auth.Keys); err == nil {
			out = append(out, keysOfAPI(text)...)
		}
	}
	return out
}

// keysOfAPI returns the keys in a document of them, wherever in it they stand.
func keysOfAPI(text []byte) (out []string) {
	var root yaml.Node
	if yaml.Unmarshal(text, &root) != nil {
		return nil
	}
	var visit func(n *yaml.Node)
	visit = func(n *yaml.Node) {
		for i, child := range n.Content {
			if n.Kind == yaml.MappingNode && i%2 == 0 && child.Value == "api_keys" && n.Content[i+1].Kind == yaml.MappingNode {
				for k, key := range n.Content[i+1].Content {
					if k%2 == 0 {
						out = append(out, key.Value)
					}
				}
			}
			visit(child)
		}
	}
	visit(&root)
	return out
}
