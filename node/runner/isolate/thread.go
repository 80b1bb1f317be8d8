package isolate

import (
	"errors"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Go runs a function in a goroutine with an account's rights to files: a link that its user has put somewhere
// leads only to the user's own files. If the goroutine cannot get these rights, fail is called instead.
// Without an account the function runs as the user of this process.
//
// The goroutine has a thread of its own, which ends with it. Other goroutines that it starts run as this
// process does.
func (a *Account) Go(do func(), fail func(error)) {
	go func() {
		if a == nil {
			do()
			return
		}
		runtime.LockOSThread() // for ever: the thread is not to be used for anything else
		if err := a.become(); err != nil {
			fail(err)
			return
		}
		do()
	}()
}

// become gives this thread the account's rights to files. The calls are made for this thread alone; those of
// the standard library would change all threads.
func (a *Account) become() error {
	groups := unsafe.SliceData(a.Groups)                                                                                            //nolint:gosec // the kernel wants an address
	if _, _, errno := unix.RawSyscall(unix.SYS_SETGROUPS, uintptr(len(a.Groups)), uintptr(unsafe.Pointer(groups)), 0); errno != 0 { //nolint:gosec // the kernel wants an address
		return errors.Join(errors.New("this process may not become the job's user"), errno)
	}
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSGID, uintptr(a.GID), 0, 0) // they answer what was before,
	_, _, _ = unix.RawSyscall(unix.SYS_SETFSUID, uintptr(a.UID), 0, 0) // these return no error
	gid, _, _ := unix.RawSyscall(unix.SYS_SETFSGID, ^uintptr(0), 0, 0)
	uid, _, _ := unix.RawSyscall(unix.SYS_SETFSUID, ^uintptr(0), 0, 0)
	if gid != uintptr(a.GID) || uid != uintptr(a.UID) {
		return errors.New("this process may not become the job's user")
	}
	return nil
}
