// Command hosts makes a cluster on one machine whose members are as separate as machines are: each has a network, a
// hostname, process ids and folders of its own, by namespaces of the kernel. The cluster is set up by the commands of
// the quick start in README.md. It needs root.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
)

func main() {
	berth := flag.String("berth", "bin/berth", "the program berth; berthd is next to it")
	readme := flag.String("readme", "README.md", "the file with the quick start")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *berth, *readme); err != nil {
		fmt.Fprintln(os.Stderr, "hosts:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, berth, readme string) (err error) {
	if err := missing(); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "berth-hosts-")
	if err != nil {
		return err
	}
	program, err := filepath.Abs(berth)
	if err != nil {
		return err
	}
	units, err := filepath.Abs(filepath.Join(filepath.Dir(readme), "deploy"))
	if err != nil {
		return err
	}
	steps, err := quickStart(readme)
	if err != nil {
		return err
	}
	l, err := newLab(dir, program, units)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.close(), os.RemoveAll(dir)) }()
	if err := l.bootAll(plan()); err != nil {
		return err
	}
	if err := l.follow(ctx, steps, func(s step, out string) { fmt.Printf("%s %s\n%s", s.prompt(), s.text, out) }); err != nil {
		return err
	}
	fmt.Printf("\nThe cluster is ready. Machines: as root in another terminal\n\n")
	for _, m := range l.machines {
		fmt.Printf("  %-7s %-10s nsenter -t %s -n -m -u -p --wdns=/ -- env PATH=%s:$PATH HOME=%s bash\n", m.name, m.address, m.pid, filepath.Join(dir, "bin"), filepath.Join(m.dir, "home"))
	}
	fmt.Printf("\nCtrl-C ends them and removes %s.\n", dir)
	<-ctx.Done()
	return nil
}
