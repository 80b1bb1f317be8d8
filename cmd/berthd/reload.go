package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/berth-gpu/berth/cmd/internal/config"
	"github.com/berth-gpu/berth/cmd/internal/systemd"
	"github.com/berth-gpu/berth/httpapi/client/cmdline"
)

// common is what peers and agents have in common while they run.
type common struct {
	log     *slog.Logger
	manager *systemd.Manager
	again   *config.Reloader // with which other parts register for changes of settings
	stop    func()           // no settings are read from then on
}

// reloading starts a program's log, finds the service manager that has started the program, and reads the settings again at
// each SIGHUP. Settings with which the program could not start, according to check, are not taken over.
func reloading(ctx context.Context, settings *config.Loaded, check func(*config.Loaded) error, out *lineWriter) common {
	level := &slog.LevelVar{}
	level.Set(settings.Log.Level)
	log := newLog(out, level)
	manager, err := systemd.FromEnvironment()
	if manager.Log = log; err != nil {
		log.Warn(cmdline.OneLine(err))
	}
	for _, note := range settings.Notes {
		log.Warn(note)
	}
	again := config.NewReloader(settings, check)
	again.On(func(c *config.Config) { level.Set(c.Log.Level) }, "log.level")
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-hangups:
				manager.Reload(func() { reload(again, log) })
			case <-ctx.Done():
				return
			}
		}
	})
	return common{log, manager, again, func() {
		signal.Stop(hangups)
		cancel()
		work.Wait()
	}}
}

func reload(again *config.Reloader, log *slog.Logger) {
	taken, left, err := again.Reload()
	if err != nil {
		log.Error("the configuration is not valid and was not taken over", "err", cmdline.OneLine(err))
		return
	}
	for _, why := range left {
		log.Warn("not taken over: " + why)
	}
	log.Info("the configuration was read again", "taken_over", taken)
}
