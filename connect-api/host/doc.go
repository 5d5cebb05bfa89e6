// Package host is the worker's end of the wire to a connector plugin: it starts the process, asks it, and carries batches
// of rows between it and the worker's tasks.
//
// It owns the plugin's process, its socket and its streams. It never decodes a row, makes a Kafka client, retries a task or
// applies an error policy: the worker's runtime does.
//
// # A process
//
//	p, err := host.Start(ctx, host.Options{Path: binary, Dir: runDir, Log: log})
//	defer p.Stop(ctx)                    // drains, waits, kills: no orphan
//	all, err := p.Describe(ctx)
//	found, err := p.Validate(ctx, "mysql", config)
//	tasks, err := p.Tasks(ctx, "mysql", config, max, committed)
//	err = p.Watch(ctx, "mysql", config, func() { /* ask for Tasks again */ })  // until ctx ends
//
// Done closes the moment the process is gone; Err says how, with the last lines it wrote to stderr.
//
// # A source task (runtime/source)
//
// The data goroutine:
//
//	s, err := p.OpenSource(ctx, host.SourceOptions{Connector: "mysql", Task: 0, Config: cfg, Committed: positions, …})
//	for {
//		b, err := s.Recv(ctx)        // io.EOF: closed, all done; a *connectapi.Error: the task's failure; *ExitError: the process died
//		rows := b.Rows()
//		var row connectapi.RawRow
//		for rows.Next(&row) { … }    // row.Route, row.Millis, row.Key, row.Value, row.Headers: slices into the batch
//		if err := rows.Err(); err != nil { … }
//		queue(b.ID, b.Positions)     // positions stand behind rows: Mark.Rows of them
//		b.Release()                  // when no slice of it is used any more: returns its credit
//	}
//
// The control goroutine, when the position behind batch id is durable: s.Ack(id, nil). Acks are cumulative; the stream sends
// the last one again when it is idle. A failure of kind EndOfInput comes from Recv like others, but the stream lives on
// until Stop: ack what there was.
//
// To stop: s.Stop() once, go on with Recv and Ack until Recv returns io.EOF; s.Close() in any case (it aborts what is left;
// after io.EOF it does nothing). With a deadline: Close ends a plugin's stream that does not end by itself.
//
// # A sink task (runtime/sink)
//
// One goroutine fills and sends, one receives:
//
//	s, err := p.OpenSink(ctx, host.SinkOptions{Connector: "elasticsearch", …})
//	err = s.Assign(offsets)              // answered by an Assigned event; send no rows of these partitions before
//	b := s.NewBatch()
//	b.Append(route, millis, offset, key, value, headers)   // route.Partition as consumed; route.ReadFrom if renamed
//	err = s.Send(ctx, b, next)           // waits for the plugin's credit; next: the offsets behind the batch, of all its partitions
//
//	ev, err := s.Recv(ctx)               // *Assigned, *Durable, *Failed, *Flushed, *Revoked, *Seek, *CommitRequested; io.EOF after Stop
//
// Failed events come before any Durable that passes them. s.Flush(all) is answered by Durable and Flushed. Before partitions
// move: Flush(true), wait for Flushed, Revoke, wait for Revoked. To stop: Flush(true), Flushed, Stop, Recv until io.EOF. Some
// goroutine must always be in Recv: credit is taken in there too.
//
// Reports of both are read with Report(), at any time.
//
// # Invariants
//
//	I1. A process started here is gone when Stop returns, and when the worker dies (Linux: Pdeathsig, from one thread that lives as long as the worker).
//	I2. A plugin sees the environment it was given and the protocol's variables, nothing else of the worker's.
//	I3. Every call and every stream ends when its ctx does, whatever the plugin does; no goroutine outlives Stop.
//	I4. Rows in memory are bounded by the credit granted, and one batch. So are the slots of shared memory that take any: the last one
//	    granted is filled next, and an idle stream gives theirs back.
//	I5. Configurations are never logged, nor part of errors.
package host
