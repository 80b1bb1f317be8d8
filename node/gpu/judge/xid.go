package judge

import (
	"fmt"
	"slices"
)

// Class is what an Xid code means for the GPU that reports it.
type Class uint8

// The classes, from harmless to grave.
const (
	ClassNone        Class = 0
	ClassIgnore      Class = 1 // has no meaning by itself
	ClassApplication Class = 2 // a job's own fault: the GPU is fine
	ClassReset       Class = 3 // the GPU works again after a reset
	ClassQuarantine  Class = 4 // a person has to look at it
	ClassRestart     Class = 5 // the host must be restarted
)

// classNames returns the names of the classes in configurations.
func classNames() []string {
	return []string{"", "ignore", "application", "reset", "quarantine", "restart"}
}

// String returns the class's name, as in configurations.
func (c Class) String() string {
	if names := classNames(); int(c) < len(names) {
		return names[c]
	}
	return fmt.Sprintf("class(%d)", uint8(c))
}

// ClassOf returns the class of that name.
func ClassOf(name string) (Class, bool) {
	i := slices.Index(classNames(), name)
	return Class(max(i, 0)), i > 0
}

// Class returns the class of a code: by the configuration, then by the catalogue; an unknown code
// quarantines.
func (c Config) Class(xid uint64) Class {
	if class, ok := c.Xids[xid]; ok {
		return class
	}
	if i := slices.IndexFunc(catalogue(), func(r codes) bool { return r.from <= xid && xid <= r.to }); i >= 0 {
		return catalogue()[i].class
	}
	return ClassQuarantine
}

// codes is a range of codes with one meaning.
type codes struct {
	from, to uint64
	class    Class
}

// catalogue returns the meaning of the codes that NVIDIA documents.
func catalogue() []codes {
	const ignore, app, reset, restart = ClassIgnore, ClassApplication, ClassReset, ClassRestart
	return []codes{
		{8, 8, app},
		{11, 11, app},
		{13, 13, app}, // graphics engine exception: mostly an access out of bounds
		{14, 14, ignore},
		{25, 25, app},
		{31, 32, app}, // 31: MMU fault, an illegal address
		{37, 38, ignore},
		{39, 41, app},
		{43, 44, ignore}, // 43: the driver stopped a channel; what led to it has a code of its own
		{45, 45, app},    // a channel was removed: what a killed job leaves
		{46, 46, reset},
		{48, 48, reset}, // a double-bit memory error
		{60, 60, app},
		{62, 62, reset},
		{63, 63, ignore}, // a row was remapped: the readings of the rows show it
		{64, 64, reset},  // a row could not be remapped
		{66, 67, ignore},
		{68, 72, app},
		{74, 74, reset}, // NVLink
		{75, 77, app},
		{79, 79, restart}, // the GPU has fallen off the bus
		{80, 80, app},
		{82, 86, app},
		{88, 89, app},
		{92, 93, ignore},
		{94, 94, app},   // a contained memory error: the job is over, the GPU goes on
		{95, 95, reset}, // an uncontained one
		{96, 105, app},
		{106, 108, ignore},
		{109, 110, reset},
		{119, 120, reset}, // the GPU's own processor does not answer
		{121, 121, ignore},
		{126, 135, app},
		{136, 136, reset},
		{137, 137, ignore},
		{139, 139, app},
		{140, 140, reset},
		{141, 141, ignore},
		{143, 150, reset},  // 144 to 150: NVLink
		{152, 154, ignore}, // 154: the recommended recovery has changed, which is read
		{155, 156, reset},
		{157, 157, ignore},
		{158, 158, reset},
		{160, 161, ignore},
	}
}
