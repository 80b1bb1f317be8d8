package devices

import (
	"bytes"
	"encoding/binary"
	"testing"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// run plays a program as the kernel would: of its instructions those that ours use.
func run(t interface{ Fatalf(string, ...any) }, program asm.Instructions, kind, major, minor uint32) uint64 {
	given := make([]byte, 12)
	for i, v := range []uint32{kind, major, minor} {
		binary.NativeEndian.PutUint32(given[4*i:], v)
	}
	at := map[string]int{}
	for i, ins := range program {
		if ins.Symbol() != "" {
			at[ins.Symbol()] = i
		}
	}
	var r [11]uint64
	for pc, steps := 0, 0; pc < len(program); steps++ {
		ins := program[pc]
		op, value := ins.OpCode, uint64(ins.Constant)
		if op.Class() == asm.Jump32Class {
			value = uint64(uint32(ins.Constant))
		}
		jump := false
		switch {
		case steps > 10_000:
			t.Fatalf("it does not end")
		case op == asm.LoadMemOp(asm.Word):
			r[ins.Dst] = uint64(binary.NativeEndian.Uint32(given[ins.Offset:]))
		case op == asm.And.Op(asm.ImmSource):
			r[ins.Dst] &= value
		case op == asm.Mov.Op(asm.ImmSource):
			r[ins.Dst] = value
		case op.JumpOp() == asm.Exit:
			return r[asm.R0]
		case op.JumpOp() == asm.JNE:
			jump = r[ins.Dst] != value
		case op.JumpOp() == asm.JLT:
			jump = r[ins.Dst] < value
		case op.JumpOp() == asm.JGT:
			jump = r[ins.Dst] > value
		default:
			t.Fatalf("instruction %d is not known here: %v", pc, ins)
		}
		pc++
		if jump {
			to, known := at[ins.Reference()]
			if !known || to < pc {
				t.Fatalf("a jump to %q, which is not further on", ins.Reference())
			}
			pc = to
		}
	}
	t.Fatalf("it runs over its end")
	return 0
}

// A program decides as its rules do, and never about block devices.
func TestProgram(t *testing.T) {
	number := rapid.OneOf(rapid.Uint32Range(0, 3), rapid.Uint32Range(194, 256), rapid.Uint32(), rapid.Just(^uint32(0)))
	rapid.Check(t, func(t *rapid.T) {
		rules := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Rule {
			return Rule{number.Draw(t, "major"), number.Draw(t, "from"), number.Draw(t, "to"), rapid.Bool().Draw(t, "allow")}
		}), 0, 8).Draw(t, "rules")
		p := Program(rules)
		var encoded bytes.Buffer
		if err := p.Marshal(&encoded, binary.LittleEndian); err != nil {
			t.Fatalf("%v", err)
		}
		for range 10 {
			major, minor, access := number.Draw(t, "a major"), number.Draw(t, "a minor"), rapid.Uint32Range(0, 7).Draw(t, "access")
			if len(rules) > 0 && rapid.Bool().Draw(t, "near") {
				major = rules[0].Major
			}
			if got := run(t, p, access<<16|unix.BPF_DEVCG_DEV_CHAR, major, minor) == 1; got != allows(rules, major, minor) {
				t.Fatalf("%d:%d: %v by %v", major, minor, got, rules)
			}
			if run(t, p, access<<16|unix.BPF_DEVCG_DEV_BLOCK, major, minor) != 1 {
				t.Fatalf("the block device %d:%d is denied", major, minor)
			}
		}
	})
}
