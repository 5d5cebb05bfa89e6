package lake

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/penstockio/penstock/connect-api"
)

const (
	s3CheckTimeout = 10 * time.Second
	parquetType    = "application/vnd.apache.parquet"
)

// s3Store keeps the lake in a bucket. A file is written on local disk, then put with one conditional request: an object
// is there whole or not at all (I1), and never replaced (I2).
type s3Store struct {
	client *minio.Client
	target target
}

func newS3Store(c *Config, t target) (*s3Store, error) {
	endpoint, secure := "s3.amazonaws.com", true
	lookup := minio.BucketLookupAuto
	if c.StoreURL != "" {
		u, err := url.Parse(c.StoreURL)
		if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") || (u.Path != "" && u.Path != "/") {
			return nil, connectapi.ConfigError("store.url", fmt.Errorf("%q is not http(s)://host:port", c.StoreURL))
		}
		endpoint, secure = u.Host, u.Scheme == "https"
		lookup = minio.BucketLookupDNS
		if c.PathStyle {
			lookup = minio.BucketLookupPath
		}
	}
	creds := credentials.NewStaticV4(c.AccessKey, string(c.SecretKey), "")
	if c.AccessKey == "" {
		creds = credentials.NewChainCredentials([]credentials.Provider{
			&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: s3CheckTimeout}},
		})
	}
	client, err := minio.New(endpoint, &minio.Options{Creds: creds, Secure: secure, Region: c.Region, BucketLookup: lookup})
	if err != nil {
		return nil, connectapi.ConfigError(t.key, fmt.Errorf("making a client of %s: %w", endpoint, err))
	}
	return &s3Store{client, t}, nil
}

func (s *s3Store) object(path string) string {
	if s.target.prefix == "" {
		return path
	}
	return s.target.prefix + "/" + path
}

// check asks whether the bucket is there for us.
func (s *s3Store) check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s3CheckTimeout)
	defer cancel()
	ok, err := s.client.BucketExists(ctx, s.target.bucket)
	switch {
	case err == nil && ok:
		return nil
	case err == nil:
		return connectapi.ConfigError(s.target.key, fmt.Errorf("there is no bucket %s at %s", s.target.bucket, s.client.EndpointURL().Host))
	}
	key := "store.url"
	switch minio.ToErrorResponse(err).StatusCode {
	case http.StatusForbidden, http.StatusUnauthorized:
		key = "aws.access.key.id"
	case http.StatusBadRequest, http.StatusMovedPermanently:
		key = s.target.key
	}
	return connectapi.ConfigError(key, fmt.Errorf("asking %s for bucket %s: %w", s.client.EndpointURL().Host, s.target.bucket, err))
}

// classify tells errors that may pass from those that stay.
func classify(err error) error {
	var e minio.ErrorResponse
	if errors.As(err, &e) {
		switch {
		case e.StatusCode == http.StatusPreconditionFailed || e.Code == "PreconditionFailed":
			return fs.ErrExist
		case e.Code == "NoSuchKey":
			return fs.ErrNotExist
		case e.StatusCode == http.StatusNotImplemented:
			return fmt.Errorf("%w (the store must offer conditional writes, If-None-Match: *)", err)
		case e.StatusCode == http.StatusTooManyRequests, e.StatusCode == http.StatusRequestTimeout,
			e.StatusCode == http.StatusConflict, e.StatusCode >= http.StatusInternalServerError:
			return connectapi.Retry(err, 0)
		case e.StatusCode != 0:
			return err
		}
	}
	if errors.Is(err, context.Canceled) {
		return err
	}
	return connectapi.Retry(err, 0) // no answer came
}

func (s *s3Store) create(string) (upload, error) {
	f, err := os.CreateTemp("", "penstock-lake-*")
	if err != nil {
		return nil, fmt.Errorf("beginning a file to upload: %w", err)
	}
	if err := os.Remove(f.Name()); err != nil { // it has no name, so a kill leaves nothing
		return nil, errors.Join(fmt.Errorf("hiding a file to upload: %w", err), f.Close())
	}
	return &s3Upload{s: s, f: f}, nil
}

func (s *s3Store) sweep(string) error { return nil }

func (s *s3Store) open(ctx context.Context, path string) (published, error) {
	o, err := s.client.GetObject(ctx, s.target.bucket, s.object(path), minio.GetObjectOptions{})
	if err != nil {
		return nil, classify(err)
	}
	st, err := o.Stat()
	if err != nil {
		return nil, errors.Join(classify(err), o.Close())
	}
	return &s3Object{o, st.Size}, nil
}

type s3Object struct {
	*minio.Object
	size int64
}

func (o *s3Object) Size() int64 { return o.size }

func (o *s3Object) ReadAt(b []byte, off int64) (int, error) {
	n, err := o.Object.ReadAt(b, off)
	if err != nil && !errors.Is(err, io.EOF) {
		err = classify(err)
	}
	return n, err
}

type s3Upload struct {
	s    *s3Store
	f    *os.File
	size int64
}

func (u *s3Upload) Write(b []byte) (int, error) {
	n, err := u.f.Write(b)
	u.size += int64(n)
	return n, err
}

func (u *s3Upload) publish(ctx context.Context, path string) error {
	o := minio.PutObjectOptions{ContentType: parquetType, DisableMultipart: true}
	o.SetMatchETagExcept("*")
	_, err := u.s.client.PutObject(ctx, u.s.target.bucket, u.s.object(path), io.NewSectionReader(u.f, 0, u.size), u.size, o)
	if err == nil {
		return nil
	}
	err = classify(err)
	if errors.Is(err, fs.ErrExist) {
		return err
	}
	return fmt.Errorf("putting object %s into bucket %s: %w", u.s.object(path), u.s.target.bucket, err)
}

func (u *s3Upload) discard() error { return u.f.Close() }
