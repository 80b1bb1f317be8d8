package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// bom is a list of parts in the form of CycloneDX 1.6 (https://cyclonedx.org/docs/1.6/json/).
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Serial       string       `json:"serialNumber"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Time      string    `json:"timestamp"`
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version"`
	PURL       string     `json:"purl,omitempty"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// writeSBOM writes what the programs that were built are made of, as they say themselves (go version -m).
func (r *release) writeSBOM() error {
	main := "pkg:golang/" + modulePath + "@" + r.version.name
	b := &bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", Spec: "1.6", Version: 1,
		Metadata: metadata{
			Time:      r.version.time.Format(time.RFC3339),
			Component: component{Type: "application", Ref: main, Name: "berth", Version: r.version.name, PURL: main},
		},
	}
	parts := map[string]component{}
	var programRefs []string
	for _, path := range r.parts {
		program, needs, err := partsOf(path, parts)
		if err != nil {
			return err
		}
		if filepath.Base(path) == "berthd" {
			page, err := ofPage()
			if err != nil {
				return err
			}
			parts[page.Ref] = page
			needs = append(needs, page.Ref)
		}
		slices.Sort(needs)
		program.Version = r.version.name
		b.Components = append(b.Components, program)
		b.Dependencies = append(b.Dependencies, dependency{program.Ref, needs})
		programRefs = append(programRefs, program.Ref)
	}
	b.Dependencies = append(b.Dependencies, dependency{main, programRefs})
	for _, ref := range sortedKeys(parts) {
		b.Components = append(b.Components, parts[ref])
		b.Dependencies = append(b.Dependencies, dependency{Ref: ref})
	}
	body, err := json.Marshal(b)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	id := hex.EncodeToString(sum[:16])
	b.Serial = fmt.Sprintf("urn:uuid:%s-%s-8%s-8%s-%s", id[:8], id[8:12], id[13:16], id[17:20], id[20:32])
	text, err := json.MarshalIndent(b, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, "berth_"+r.version.file()+"_sbom.cdx.json"), append(text, '\n'), 0o644)
}

// partsOf returns a program and the references of its parts, which are added to a list.
func partsOf(path string, parts map[string]component) (component, []string, error) {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return component{}, nil, err
	}
	sum, _, err := digest(path)
	if err != nil {
		return component{}, nil, err
	}
	arch := filepath.Base(filepath.Dir(filepath.Dir(path)))
	name := filepath.Base(path)
	program := component{Type: "application", Ref: name + "/linux/" + arch, Name: name, Hashes: []hash{{"SHA-256", sum}}, Properties: []property{{"architecture", arch}}}
	std := component{Type: "library", Name: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go")}
	std.PURL = "pkg:golang/stdlib@" + std.Version
	std.Ref = std.PURL
	parts[std.Ref] = std
	needs := []string{std.Ref}
	for _, m := range info.Deps {
		for m.Replace != nil {
			m = m.Replace
		}
		c := component{Type: "library", Name: m.Path, Version: m.Version, PURL: "pkg:golang/" + m.Path + "@" + m.Version, Properties: []property{{"go.sum", m.Sum}}}
		c.Ref = c.PURL
		parts[c.Ref] = c
		needs = append(needs, c.Ref)
	}
	return program, needs, nil
}

// ofPage returns the library of which the page for browsers, which is in berthd, contains parts.
func ofPage() (component, error) {
	text, err := os.ReadFile("page/package.json")
	if err != nil {
		return component{}, err
	}
	var p struct {
		Dev map[string]string `json:"devDependencies"`
	}
	if err := json.Unmarshal(text, &p); err != nil {
		return component{}, err
	}
	version := p.Dev["svelte"]
	if version == "" {
		return component{}, fmt.Errorf("page/package.json has no svelte: correct the list of what the page contains in test/internal/release/sbom.go")
	}
	purl := "pkg:npm/svelte@" + version
	return component{Type: "library", Ref: purl, Name: "svelte", Version: version, PURL: purl}, nil
}

// sortedKeys returns the keys of a map in their order.
func sortedKeys(m map[string]component) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
