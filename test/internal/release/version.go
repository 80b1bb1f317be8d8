package main

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// version is the version of a work tree.
type version struct {
	name string    // as berth version shows it: a tag, or the form of Go for a commit without one
	time time.Time // of the commit
}

// tagged is the form of the tags of releases: semantic versioning.
var tagged = regexp.MustCompile(`^v(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// readVersion returns the version of the work tree in a folder.
func readVersion(ctx context.Context, dir string) (version, error) {
	git := func(args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir}, args...)...)
		out, err := cmd.Output()
		if err != nil {
			return "", fmt.Errorf("git %s: %w", args[0], err)
		}
		return strings.TrimSpace(string(out)), nil
	}
	commit, err := git("log", "-1", "--format=%ct %H")
	if err != nil {
		return version{}, err
	}
	seconds, hash, _ := strings.Cut(commit, " ")
	at, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return version{}, err
	}
	status, err := git("status", "--porcelain")
	if err != nil {
		return version{}, err
	}
	tag, _ := git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*")      // an error: there is none
	exact, _ := git("describe", "--tags", "--exact-match", "--match", "v[0-9]*") // likewise
	v := version{time: time.Unix(at, 0).UTC()}
	if v.name, err = nameOf(tag, exact == tag && tag != "", v.time, hash); err != nil {
		return version{}, err
	}
	if status != "" {
		v.name += "+dirty"
	}
	return v, nil
}

// nameOf returns the version of a commit: its tag, or the version that Go gives to a commit after a tag, or without any.
func nameOf(tag string, exact bool, at time.Time, hash string) (string, error) {
	stamp := at.Format("20060102150405") + "-" + hash[:min(12, len(hash))]
	if tag == "" {
		return "v0.0.0-" + stamp, nil
	}
	m := tagged.FindStringSubmatch(tag)
	switch {
	case m == nil:
		return "", fmt.Errorf("the tag %s is no version: use vMAJOR.MINOR.PATCH", tag)
	case exact:
		return tag, nil
	case m[4] != "":
		return tag + ".0." + stamp, nil
	}
	patch, err := strconv.Atoi(m[3])
	return fmt.Sprintf("v%s.%s.%d-0.%s", m[1], m[2], patch+1, stamp), err
}

// file returns the version as part of the name of a file.
func (v version) file() string { return strings.TrimPrefix(v.name, "v") }

// packaged returns the version as deb and rpm order it: "~" sorts before the release itself, and "-" is not part of a version.
func (v version) packaged() string {
	number, pre, is := strings.Cut(v.file(), "-")
	if !is {
		return number
	}
	return number + "~" + strings.ReplaceAll(pre, "-", ".")
}

// epoch returns the time of the commit for SOURCE_DATE_EPOCH.
func (v version) epoch() string { return strconv.FormatInt(v.time.Unix(), 10) }
