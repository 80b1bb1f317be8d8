package store

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// UserFolder is the folder of a user's store, in the folder of the user.
const UserFolder = "store"

// NamesFolder is the folder of a user's containers with names, next to UserFolder. The program berth, which does not contain this package,
// has both names, too.
const NamesFolder = "names"

// EvictUsers frees space in the folders of all users of a node: folder has a folder for each user, with the store in UserFolder. The user
// whose folder takes most comes first, so that no user loses images because another user fills the disk. Of each user, what is neither an
// image nor a container goes first, then images that no process uses; containers with names go only of a user that takes more than half of
// the file system. Links that lead out of the folder are not followed.
func EvictUsers(folder string, free float64) (removed []string, err error) {
	users, err := os.OpenRoot(folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer func() { _ = users.Close() }()
	var total int64
	enough := func() (bool, error) {
		has, all, err := space(folder)
		total = all
		return float64(has) >= free*float64(all), err
	}
	if ok, err := enough(); ok || err != nil {
		return nil, errors.Join(err, sweepUsers(users))
	}
	list, err := heaviest(users)
	for _, u := range list {
		root, openErr := users.OpenRoot(u.name)
		if openErr != nil { // no folder, or a link that leads elsewhere
			continue
		}
		gone, evictErr := evictUser(root, u.bytes > total/2, enough)
		removed = append(removed, gone...)
		err = errors.Join(err, evictErr, root.Close())
		if ok, spaceErr := enough(); ok || spaceErr != nil {
			return removed, errors.Join(err, spaceErr)
		}
	}
	return removed, err
}

// userUse is what a user's folder takes of the disk.
type userUse struct {
	name  string
	bytes int64
}

// heaviest returns the folders of all users, the one that takes most first.
func heaviest(users *os.Root) ([]userUse, error) {
	names, err := list(users, ".")
	var out []userUse
	for _, name := range names {
		out = append(out, userUse{name, takes(users, name)})
	}
	slices.SortStableFunc(out, func(a, b userUse) int { return cmp.Compare(b.bytes, a.bytes) })
	return out, err
}

// takes returns what a folder with its content takes of the disk; what cannot be read counts nothing.
func takes(root *os.Root, path string) (sum int64) {
	_ = fs.WalkDir(root.FS(), path, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // the rest counts
		}
		info, err := e.Info()
		if err != nil {
			return nil //nolint:nilerr // it has just gone
		}
		if st, is := info.Sys().(*syscall.Stat_t); is {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}

// sweepUsers removes what earlier removals have left in the stores of all users.
func sweepUsers(users *os.Root) error {
	names, err := list(users, ".")
	for _, name := range names {
		if root, openErr := users.OpenRoot(filepath.Join(name, UserFolder)); openErr == nil { // others have no images
			err = errors.Join(err, sweepGone(root), root.Close())
		}
	}
	return err
}

// evictUser frees space in the folder of one user until there is enough.
func evictUser(user *os.Root, much bool, enough func() (bool, error)) (removed []string, err error) {
	drop := func(root *os.Root, in string, strange func(name string) bool) error {
		names, err := list(root, in)
		for _, name := range names {
			if strange(name) {
				err = errors.Join(err, removeTree(root, filepath.Join(in, name)))
			}
		}
		return err
	}
	err = drop(user, ".", func(name string) bool { return name != UserFolder && name != NamesFolder })
	root, openErr := user.OpenRoot(UserFolder)
	switch {
	case errors.Is(openErr, fs.ErrNotExist):
	case openErr != nil: // a file, or a link out of the folder
		err = errors.Join(err, user.Remove(UserFolder))
	default:
		err = errors.Join(err, drop(root, ".", func(name string) bool { return !isKey(name) && name != pullFolder && name != goneFolder }),
			drop(root, pullFolder, func(name string) bool {
				at := max(0, strings.LastIndexByte(name, '-'))
				return !isKey(strings.TrimSuffix(name, ".lock")) && !isKey(name[:at])
			}), (&Store{root: root}).sweepPulls(""))
		gone, evictErr := evict(root, enough)
		removed = append(removed, gone...)
		err = errors.Join(err, evictErr, root.Close())
	}
	if ok, spaceErr := enough(); ok || spaceErr != nil || !much {
		return removed, errors.Join(err, spaceErr)
	}
	return removed, errors.Join(err, drop(user, NamesFolder, func(string) bool { return true }))
}

// freeInterval is how often a node's stores are looked at.
const freeInterval = time.Minute

// Free calls [EvictUsers], so that a tenth of the file system is free, and logs what was removed.
func Free(folder string, log *slog.Logger) {
	removed, err := EvictUsers(folder, keptFree)
	if err != nil {
		log.Warn("images_not_removed", "folder", folder, "error", err)
	}
	if len(removed) > 0 {
		log.Info("images_removed", "folder", folder, "images", removed, "why", "the disk is full")
	}
}

// KeepFree calls [Free] now and every minute, until the context ends, so that a tenth of the file system stays free.
func KeepFree(ctx context.Context, folder string, log *slog.Logger) {
	tick := time.NewTicker(freeInterval)
	defer tick.Stop()
	for {
		Free(folder, log)
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}
