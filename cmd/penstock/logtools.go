package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/penstockio/penstock/broker"
	"github.com/penstockio/penstock/broker/commitlog"
	"github.com/penstockio/penstock/broker/store"
)

// logCommand is the tools for a stopped broker's data.
func logCommand() *cobra.Command {
	c := &cobra.Command{
		Use: "log", Short: "Check, repair and reindex the data of a stopped broker",
		Long: "Tools for the broker's data directory. The broker must be stopped: they refuse a directory that is in use.\n\n" +
			"  penstock log verify    reads everything and names what is damaged; changes nothing\n" +
			"  penstock log repair    takes damaged places out of the log, so that the broker starts again\n" +
			"  penstock log reindex   rebuilds the index from the log",
	}
	dir := c.PersistentFlags().String("data-dir", "./penstock-data", "folder of the broker's data")
	run := func(f func(ctx context.Context, out io.Writer, log *slog.Logger) error) func(*cobra.Command, []string) error {
		return func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelWarn}))
			return f(ctx, cmd.OutOrStdout(), log)
		}
	}
	var yes bool
	repair := &cobra.Command{
		Use: "repair", Short: "Take damaged places out of the log", Args: cobra.NoArgs,
		Long: "Makes a log usable that the broker refuses as damaged. Restoring it from a copy is better: what is damaged is lost\n" +
			"for good here. The bytes are kept under log/lost/, and records that were there become a gap in the offsets of\n" +
			"their partitions, which is reported. Then the index is rebuilt.\n\n" +
			"Without --yes it only shows what it would do.",
		RunE: run(func(ctx context.Context, out io.Writer, log *slog.Logger) error {
			return logRepair(ctx, out, log, *dir, yes)
		}),
	}
	repair.Flags().BoolVar(&yes, "yes", false, "do it")
	c.AddCommand(
		&cobra.Command{
			Use: "verify", Short: "Read everything and name what is damaged", Args: cobra.NoArgs,
			Long: "Reads every frame of the log and checks it. It changes nothing, prints what it found, and exits with status 1 if\n" +
				"something is damaged or missing.",
			RunE: run(func(ctx context.Context, out io.Writer, log *slog.Logger) error {
				return logVerify(ctx, out, log, *dir)
			}),
		},
		repair,
		&cobra.Command{
			Use: "reindex", Short: "Rebuild the index from the log", Args: cobra.NoArgs,
			Long: "Throws the index away and rebuilds it from the log. The broker does that by itself when it finds the index damaged\n" +
				"or missing; this is for when an index is suspected to be wrong. A damaged log is refused, and the index kept.",
			RunE: run(func(ctx context.Context, out io.Writer, log *slog.Logger) error {
				if err := broker.Reindex(ctx, *dir, log); err != nil {
					return fmt.Errorf("reindexing %s: %w", *dir, err)
				}
				fmt.Fprintln(out, "the index was rebuilt")
				return nil
			}),
		},
	)
	return c
}

var errDamaged = errors.New("the log is damaged: restore it from a copy, or see `penstock log repair --help`")

func logVerify(ctx context.Context, out io.Writer, log *slog.Logger, dir string) error {
	c, err := store.Verify(ctx, dir, store.Options{}, log)
	if err != nil {
		return fmt.Errorf("verifying %s: %w", dir, err)
	}
	report := func(name string, r *commitlog.Report) {
		fmt.Fprintf(out, "%s: %d segments, %d frames, %d record batches, %d bytes, ends at %d\n", name, r.Segments, r.Frames, r.Batches, r.Bytes, r.End)
		if r.Skipped > 0 {
			fmt.Fprintf(out, "  %d frames of kinds that only a newer version knows\n", r.Skipped)
		}
		if r.Torn > 0 {
			fmt.Fprintf(out, "  %d bytes behind the end, as a crash leaves them: the next start cuts them\n", r.Torn)
		}
	}
	report("log", &c.Log)
	report("cold log", &c.Cold)
	if c.Snapshot >= 0 {
		fmt.Fprintf(out, "newest snapshot: of log position %d\n", c.Snapshot)
	}
	if len(c.Problems) == 0 {
		fmt.Fprintln(out, "nothing is damaged")
		return nil
	}
	for _, p := range c.Problems {
		fmt.Fprintln(out, "DAMAGED", p)
	}
	return errDamaged
}

func logRepair(ctx context.Context, out io.Writer, log *slog.Logger, dir string, yes bool) error {
	if !yes {
		err := logVerify(ctx, out, log, dir)
		if errors.Is(err, errDamaged) {
			return errors.New("nothing was changed: run it with --yes to take out what is damaged")
		}
		return err
	}
	r, names, err := broker.Repair(ctx, dir, log)
	if err != nil {
		err = fmt.Errorf("repairing %s: %w", dir, err)
	}
	for _, m := range append(r.Log, r.Cold...) {
		fmt.Fprintln(out, "taken out:", m.Damage)
		if m.Kept != "" {
			fmt.Fprintln(out, "  its bytes are kept in", m.Kept)
		}
	}
	for _, g := range r.Filled {
		fmt.Fprintf(out, "filled: log positions %d to %d, whose segment file was missing\n", g[0], g[1])
	}
	for _, g := range r.Lost {
		name, ok := names[g.Queue]
		if !ok {
			name = fmt.Sprint("a deleted partition, queue ", g.Queue)
		}
		fmt.Fprintf(out, "lost: offsets %d to %d of %s\n", g.From, g.To-1, name)
	}
	switch {
	case err != nil:
		return err
	case r.History == 0:
		fmt.Fprintln(out, "nothing is damaged")
	default:
		fmt.Fprintf(out, "the index was rebuilt; history is now %d\n", r.History)
	}
	return nil
}
