package doctor

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"
)

// Bounds of the latency of a disk, for the folder of a peer: each change of the state waits for it.
const (
	fsyncWarns  = 20 * time.Millisecond
	fsyncFaulty = 500 * time.Millisecond
)

// plenty is free space that is enough on a disk of any size, in bytes.
const plenty = 10 << 30

// Folder is a data folder and its disk.
type Folder struct {
	Role    string // peer or node
	Path    string
	Err     error // it cannot be read
	Mode    fs.FileMode
	Owner   string // account
	Want    string // account that should own the folder; empty: any
	Type    string // of the file system: ext4, xfs, nfs, ...
	Options []string

	Fsync    time.Duration // median of a write of 4 KiB and fdatasync; 0: not measured
	FsyncErr error

	Free, Total  uint64 // bytes
	MinFree      uint64 // bytes that have to be free
	Ballast      int64  // bytes that the ballast has
	BallastWants int64  // bytes that it should have; 0: unknown
	Short        string // why the file system counts as short of space; empty: it does not
}

// networkTypes are file systems of other machines. Locks, syncs and failures of them are not those of a disk.
var networkTypes = []string{"nfs", "nfs4", "cifs", "smb3", "ceph", "lustre", "9p", "fuse.sshfs", "fuse.glusterfs", "glusterfs", "beegfs", "gpfs", "afs"}

// Disk judges a data folder.
func Disk(f *Folder) (out []Finding) {
	a := about{CheckDisk, f.Role + ": " + f.Path}
	if f.Err != nil {
		return []Finding{a.fault("run this command as root, or berth doctor --role client to examine your own login; if the folder is another, correct "+setting(f.Role)+".data_dir", "the folder cannot be read: %v", f.Err)}
	}
	out = append(out, owner(a, f), fileSystem(a, f), space(a, f))
	return append(out, latency(a, f)...)
}

// setting returns the section of the settings of a role.
func setting(role string) string {
	if role == "node" {
		return "agent"
	}
	return "server"
}

func owner(a about, f *Folder) Finding {
	switch {
	case f.Mode.Perm()&0o077 != 0:
		return a.fault("chmod 700 "+f.Path, "other accounts may enter the folder (mode %04o)", f.Mode.Perm())
	case f.Want != "" && f.Owner != f.Want:
		return a.fault("chown -R "+f.Want+": "+f.Path, "the folder belongs to the account %s, and the unit runs as %s", f.Owner, f.Want)
	}
	return a.ok("the folder belongs to %s alone", f.Owner)
}

func fileSystem(a about, f *Folder) Finding {
	switch {
	case slices.Contains(networkTypes, f.Type):
		return a.fault("move the folder to a local disk: stop the unit, copy the folder with cp -a, and change "+setting(f.Role)+".data_dir",
			"the folder is on a network file system (%s)", f.Type)
	case slices.Contains(f.Options, "ro"):
		return a.fault("mount -o remount,rw, after dmesg has shown why the kernel made it read-only", "the file system (%s) is mounted read-only", f.Type)
	case f.Type == "tmpfs" || f.Type == "ramfs":
		return a.warning("move the folder to a local disk", "the folder is in memory (%s): everything in it is lost when the machine restarts", f.Type)
	}
	return a.ok("the file system is %s (%s)", f.Type, strings.Join(f.Options, ","))
}

func space(a about, f *Folder) Finding {
	free := fmt.Sprintf("%d MiB of %d MiB are free", f.Free>>20, f.Total>>20)
	room := "make room on this disk, or move the folder to a larger one"
	switch {
	case f.Free < f.MinFree:
		return a.fault(room, "%s, less than the %d MiB that have to be free (server.min_free_mib)", free, f.MinFree>>20)
	case f.Short != "":
		return a.fault(room, "the file system %s", f.Short)
	case f.BallastWants > 0 && f.Ballast < f.BallastWants:
		return a.warning("restart the unit once there is room: it fills the ballast again", "%s; the ballast has %d MiB of %d MiB: it was given up when the disk was full", free, f.Ballast>>20, f.BallastWants>>20)
	case f.Total > 0 && f.Free < min(f.Total/10, plenty):
		return a.warning(room, "%s, less than a tenth and less than %d GiB", free, plenty>>30)
	}
	return a.ok("%s", free)
}

func latency(a about, f *Folder) []Finding {
	const remedy = "give the folder a disk of its own with a fast sync (an SSD with power-loss protection), and look for other programs that write to this disk: iostat -x 1"
	text := fmt.Sprintf("a write that is synced takes %s (median of 100, 4 KiB each)", f.Fsync.Round(10*time.Microsecond))
	switch {
	case f.FsyncErr != nil:
		return []Finding{a.fault("look for errors of the disk: dmesg", "no write can be synced: %v", f.FsyncErr)}
	case f.Fsync == 0:
		return nil
	case f.Fsync > fsyncFaulty:
		return []Finding{a.fault(remedy, "%s: a peer with this disk cannot lead", text)}
	case f.Fsync > fsyncWarns:
		return []Finding{a.warning(remedy, "%s, more than %s: each change of the state waits for it", text, fsyncWarns)}
	}
	return []Finding{a.ok("%s", text)}
}
