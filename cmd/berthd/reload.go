package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/berth-gpu/berth/cmd/internal/cli"
	"github.com/berth-gpu/berth/cmd/internal/config"
)

// reloading starts a program's log, and reads the settings again at each SIGHUP until stop is
// called. Settings with which the program could not start, according to check, are not taken over.
// again is the reloader, with which other parts register for changes.
func reloading(ctx context.Context, settings *config.Loaded, check func(*config.Loaded) error, out io.Writer) (
	log *slog.Logger, again *config.Reloader, stop func(),
) {
	level := &slog.LevelVar{}
	level.Set(settings.Level)
	log = newLog(out, level)
	for _, note := range settings.Notes {
		log.Warn(note)
	}
	again = config.NewReloader(settings, check)
	again.On(func(c *config.Config) { level.Set(c.Level) }, "log.level")
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() {
		for {
			select {
			case <-hangups:
				reload(again, log)
			case <-ctx.Done():
				return
			}
		}
	})
	return log, again, func() {
		signal.Stop(hangups)
		cancel()
		work.Wait()
	}
}

func reload(again *config.Reloader, log *slog.Logger) {
	taken, left, err := again.Reload()
	if err != nil {
		log.Error("the configuration is not valid and was not taken over", "err", cli.OneLine(err))
		return
	}
	for _, why := range left {
		log.Warn("not taken over: " + why)
	}
	log.Info("the configuration was read again", "taken_over", taken)
}
