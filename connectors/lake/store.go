package lake

import (
	"context"
	"io"
)

// store is where files go. Paths are relative, with slashes.
type store interface {
	// check says whether files could be written, without leaving one. An error is a ConfigError.
	check(ctx context.Context) error
	// create begins a file nobody sees.
	create(tempPrefix string) (upload, error)
	// open reads a published file; fs.ErrNotExist if there is none.
	open(ctx context.Context, path string) (published, error)
	// sweep removes what earlier runs left unfinished.
	sweep(tempPrefix string) error
}

// upload is a file being written.
type upload interface {
	io.Writer
	// publish makes the file, whole and durable, appear at path (I1); fs.ErrExist if one is there (I2). It may be called
	// again after an error, unless that error says the bytes are lost.
	publish(ctx context.Context, path string) error
	// discard lets go of it, published or not.
	discard() error
}

// published is a file that can be read.
type published interface {
	io.ReaderAt
	io.Closer
	Size() int64
}

func openStore(c *Config) (store, error) {
	t, err := c.target()
	if err != nil {
		return nil, err
	}
	if t.folder != "" {
		return &localStore{root: t.folder, key: t.key}, nil
	}
	return newS3Store(c, t)
}
