package devices

import (
	"fmt"

	"github.com/cilium/ebpf/asm"
	"golang.org/x/sys/unix"
)

// The input of a program: three numbers of 32 bits, the first of them the kind of device in its lower half.
const (
	kindAt, majorAt, minorAt = 0, 4, 8

	kindMask = 0xffff
)

// Program returns the eBPF program that decides as rules do. It returns 1 to allow and 0 to deny.
func Program(rules []Rule) asm.Instructions {
	p := asm.Instructions{
		asm.LoadMem(asm.R2, asm.R1, kindAt, asm.Word),
		asm.And.Imm(asm.R2, kindMask),
		asm.LoadMem(asm.R3, asm.R1, majorAt, asm.Word),
		asm.LoadMem(asm.R4, asm.R1, minorAt, asm.Word),
		asm.JNE.Imm(asm.R2, unix.BPF_DEVCG_DEV_CHAR, "end"),
	}
	for i, r := range rules {
		next, at := label(i+1), len(p)
		if i+1 == len(rules) {
			next = "end"
		}
		p = append(p, asm.JNE.Imm32(asm.R3, int32(r.Major), next))
		if r.From > 0 {
			p = append(p, asm.JLT.Imm32(asm.R4, int32(r.From), next))
		}
		if r.To < ^uint32(0) {
			p = append(p, asm.JGT.Imm32(asm.R4, int32(r.To), next))
		}
		p[at] = p[at].WithSymbol(label(i))
		p = append(p, answer(r.Allow), asm.Return())
	}
	return append(p, answer(true).WithSymbol("end"), asm.Return())
}

func label(rule int) string { return fmt.Sprintf("rule%d", rule) }

func answer(allow bool) asm.Instruction {
	if allow {
		return asm.Mov.Imm(asm.R0, 1)
	}
	return asm.Mov.Imm(asm.R0, 0)
}
