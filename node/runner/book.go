package runner

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

// AddressBook is the file by which the ranks of an attempt on several nodes find and recognize each other. BERTH_GANG
// names the file; only the job's account can read it.
type AddressBook struct {
	Secret string       `json:"secret"` // 64 hexadecimal digits, random, of this attempt only
	Rank   uint32       `json:"rank"`   // of this node
	Ranks  []RankOnNode `json:"ranks"`  // in order
}

// RankOnNode is where a rank is reached.
type RankOnNode struct {
	Rank    uint32 `json:"rank"`
	Node    string `json:"node"`
	Address string `json:"address"`
	Port    uint16 `json:"port"` // that was free when the rank got ready
}

// Book returns the path of the address book in a rank's folder, below [GangFolder].
func (f *Folder) Book() string { return filepath.Join(f.path, GangFolder, "gang.json") }

// WriteBook writes the address book of a rank. Its folder exists, and is the account's; nil: no account owns the file but that
// of this process.
func (f *Folder) WriteBook(rank uint32, o *Orders, owner *[2]int) error {
	book := AddressBook{Secret: hex.EncodeToString(o.Secret), Rank: rank}
	for _, m := range o.Gang {
		book.Ranks = append(book.Ranks, RankOnNode{m.Rank, string(m.Node), m.Address, m.Port})
	}
	data, err := json.MarshalIndent(book, "", "  ") //nolint:gosec // the file is there for the secret
	if err != nil {
		return err
	}
	if err := os.Remove(f.Book()); err != nil && !errors.Is(err, os.ErrNotExist) { // of a start that broke off
		return err
	}
	file, err := os.OpenFile(f.Book(), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(append(data, '\n'))
	if owner != nil {
		err = errors.Join(err, file.Chown(owner[0], owner[1]))
	}
	return errors.Join(err, file.Close())
}

// Variables returns the "NAME=value" texts that NUL joins.
func Variables(joined string) (env []string) {
	for line := range strings.SplitSeq(joined, "\x00") {
		if line != "" {
			env = append(env, line)
		}
	}
	return env
}
