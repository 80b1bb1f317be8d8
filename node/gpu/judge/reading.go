package judge

import "fmt"

// Reading is what was read of one GPU at one instant.
type Reading struct {
	Trouble     Trouble
	Detail      string // with trouble: the driver's message
	Xids        []Xid  // since the reading before, in order
	Recovery    Recovery
	Remap       Remap
	Uncorrected uint64 // memory errors since the driver was loaded
	Temperature int16  // °C; 0: unknown
	Strangers   []Stranger
	Leftover    bool // memory is in use that no process accounts for
	Idle        bool // no process is on it
}

// Trouble is how the driver failed to answer. With any trouble, the rest of a reading except for its Xids is
// unknown.
type Trouble uint8

// The troubles.
const (
	TroubleNone   Trouble = 0
	TroubleSilent Trouble = 1 // a call has not come back
	TroubleError  Trouble = 2 // the driver reports an error
	TroubleReset  Trouble = 3 // the driver refuses until the GPU is reset
	TroubleLost   Trouble = 4 // the GPU is not there any more
)

// Recovery is what the driver recommends to do with a GPU.
type Recovery uint8

// The recoveries.
const (
	RecoveryUnknown    Recovery = 0 // the driver does not report it
	RecoveryNone       Recovery = 1
	RecoveryReset      Recovery = 2
	RecoveryRestart    Recovery = 3 // of the host
	RecoveryDrainPeers Recovery = 4 // no more traffic between GPUs
	RecoveryDrain      Recovery = 5 // no more work, then a reset
	RecoveryOther      Recovery = 6 // one that is newer than this program
)

// needed returns the required action; "": none.
func (r Recovery) needed() string {
	switch r {
	case RecoveryUnknown, RecoveryNone:
		return ""
	case RecoveryReset:
		return "it needs a reset"
	case RecoveryRestart:
		return "its host needs a restart"
	case RecoveryDrainPeers:
		return "its traffic with other GPUs must end"
	case RecoveryDrain:
		return "it must be drained and reset"
	case RecoveryOther:
	}
	return "the driver asks for a recovery that is not known here"
}

// Remap is the state of the spare rows of a GPU's memory.
type Remap struct {
	Pending bool // at the next reset a row is remapped
	Failed  bool // a row could not be: the GPU is to be replaced
}

// Xid is a fault that the driver has reported.
type Xid struct {
	Code uint64
	PID  int32 // the process that the kernel's log blames; 0: none
}

// Stranger is a process on a GPU that Berth did not start.
type Stranger struct {
	PID      int32
	Name     string
	User     string
	MemoryMB uint32
}

// String names the process, for people.
func (s Stranger) String() string {
	name, whose := s.Name, ""
	if name == "" {
		name = "a process"
	}
	if s.User != "" {
		whose = " of " + s.User
	}
	return fmt.Sprintf("%s (pid %d)%s with %s", name, s.PID, whose, amount(s.MemoryMB))
}

// amount returns a coarse amount, so that the text about a living process stays mostly the same.
func amount(mb uint32) string {
	if mb < 1024 {
		return "less than 1 GB"
	}
	return fmt.Sprintf("%d GB", mb/1024)
}
