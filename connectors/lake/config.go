package lake

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"
	_ "time/tzdata" // a container without zone files knows time zones too

	"github.com/penstockio/penstock/connect-api"
)

// Version is the connector's version.
const Version = "1.0.0"

// Config configures lake; the keys are those of Confluent's S3 sink where it has one of the meaning.
type Config struct {
	Location  string              `connect:"location,importance=high,group=Store,example=file:///var/lib/lake" doc:"Where the files go: file:///folder or s3://bucket/prefix. Or set s3.bucket.name."`
	Bucket    string              `connect:"s3.bucket.name,importance=high,group=Store" doc:"Bucket, instead of a location."`
	Region    string              `connect:"s3.region,group=Store" doc:"Region of the bucket; empty: it is asked for."`
	StoreURL  string              `connect:"store.url,group=Store,format=url" doc:"Address of an S3-compatible store; empty: Amazon S3."`
	PathStyle bool                `connect:"s3.path.style.access.enabled,default=true,group=Store" doc:"Name the bucket in the path, not in the host name, at store.url."`
	AccessKey string              `connect:"aws.access.key.id,group=Store" doc:"Access key; empty: from AWS environment variables, AWS files or the machine's role."`
	SecretKey connectapi.Password `connect:"aws.secret.access.key,group=Store" doc:"Secret key of aws.access.key.id."`
	TopicsDir string              `connect:"topics.dir,group=Store" doc:"Folder below the location for all tables. Empty: none, but 'topics' with s3.bucket.name."`

	FlushSize      int           `connect:"flush.size,default=100000,min=1,importance=high,group=Rotation" doc:"Records of a topic partition after which its files end."`
	RotateBytes    int64         `connect:"rotate.bytes,default=134217728,min=1,max=4294967296,group=Rotation" doc:"Bytes of encoded keys and values of a topic partition after which its files end."`
	RotateInterval time.Duration `connect:"rotate.interval.ms,default=-1,min=-1,group=Rotation" doc:"Span of record time (see timestamp.extractor) a file may hold; a later record ends it. -1: any."`
	RotateSchedule time.Duration `connect:"rotate.schedule.interval.ms,default=60000,min=-1,group=Rotation" doc:"Files end by the clock at multiples of this since midnight in the timezone, whatever arrives. -1: never."`
	RotateIdle     time.Duration `connect:"rotate.idle.ms,default=-1,min=-1,group=Rotation" doc:"Files end when no record came for so long. -1: never."`
	BufferBytes    int64         `connect:"buffer.bytes,default=134217728,min=1048576,group=Rotation" doc:"Memory a task's open files may use before rows are written to disk as row groups."`
	MaxOpenFiles   int           `connect:"partitioner.max.open.files,default=500,min=-1,group=Rotation" doc:"Open files of a task; beyond, those of the partition that waited longest end. -1: any number."`

	Partitioner    string        `connect:"partitioner.class,default=DefaultPartitioner,class,suggest=DefaultPartitioner|FieldPartitioner|TimeBasedPartitioner|DailyPartitioner|HourlyPartitioner,group=Partitioning" doc:"How records are spread over folders."`
	PartitionField []string      `connect:"partition.field.name,group=Partitioning" doc:"Fields of FieldPartitioner, outer folder first; a path of nested fields has dots."`
	PartitionSpan  time.Duration `connect:"partition.duration.ms,default=-1,min=-1,group=Partitioning" doc:"Time a folder of TimeBasedPartitioner holds."`
	PathFormat     string        `connect:"path.format,group=Partitioning" doc:"Folder of TimeBasedPartitioner in Joda-Time letters, e.g. 'year'=YYYY/'month'=MM."`
	Locale         string        `connect:"locale,default=en,group=Partitioning" doc:"Language of names of months and days in path.format: English only."`
	Timezone       string        `connect:"timezone,default=UTC,group=Partitioning" doc:"Time zone of folders and of rotate.schedule.interval.ms, e.g. Europe/Berlin."`
	Extractor      string        `connect:"timestamp.extractor,default=Wallclock,class,suggest=Wallclock|Record|RecordField,group=Partitioning" doc:"Time of a record: the clock's, the record's, or a field's."`
	TimestampField string        `connect:"timestamp.field,default=timestamp,group=Partitioning" doc:"Field of the RecordField extractor; a path of nested fields has dots."`

	Format     string `connect:"format.class,default=ParquetFormat,class,group=Format" doc:"Format of the files: Parquet."`
	Codec      string `connect:"parquet.codec,default=snappy,one_of=snappy|zstd|gzip|none,group=Format" doc:"Compression of Parquet pages."`
	TimeType   string `connect:"time.type,default=time,one_of=time|micros,group=Format" doc:"Times of day as Parquet's TIME (beyond a day is an error), or as an integer of microseconds."`
	Compatible string `connect:"schema.compatibility,default=NONE,group=Format" doc:"NONE: each version of a schema has files of its own, open side by side."`
	NullValues string `connect:"behavior.on.null.values,default=ignore,one_of=ignore|fail|write,group=Format" doc:"Records without a value: left out, an error, or rows of the folder 'tombstone' that hold the key."`
	OffsetPad  int    `connect:"filename.offset.zero.pad.width,default=10,min=0,max=20,group=Format" doc:"Digits of the offset in file names."`
}

// target is where the files go, of location or the S3 keys.
type target struct {
	folder string // local; empty: S3
	bucket string
	prefix string
	key    string // the key that said so
}

func (c *Config) target() (target, error) {
	switch {
	case c.Location == "" && c.Bucket == "":
		return target{}, connectapi.ConfigError("location", errors.New("is needed: file:///folder or s3://bucket/prefix"))
	case c.Location != "" && c.Bucket != "":
		return target{}, connectapi.ConfigError("location", errors.New("set location or s3.bucket.name, not both"))
	case c.Bucket != "":
		return target{bucket: c.Bucket, prefix: "topics", key: "s3.bucket.name"}.below(c.TopicsDir, true)
	case strings.HasPrefix(c.Location, "/"):
		return target{folder: filepath.Clean(c.Location), key: "location"}.below(c.TopicsDir, false)
	}
	u, err := url.Parse(c.Location)
	if err != nil {
		return target{}, connectapi.ConfigError("location", fmt.Errorf("is no URL: %w", err))
	}
	switch {
	case u.Scheme == "file" && (u.Host == "" || u.Host == "localhost") && strings.HasPrefix(u.Path, "/"):
		return target{folder: filepath.Clean(u.Path), key: "location"}.below(c.TopicsDir, false)
	case u.Scheme == "s3" && u.Host != "":
		return target{bucket: u.Host, prefix: strings.Trim(u.Path, "/"), key: "location"}.below(c.TopicsDir, false)
	}
	return target{}, connectapi.ConfigError("location", fmt.Errorf("%q is neither file:///folder nor s3://bucket/prefix", c.Location))
}

// below adds topics.dir; instead: it takes the place of the prefix.
func (t target) below(dir string, instead bool) (target, error) {
	if dir = strings.Trim(dir, "/"); dir == "" {
		return t, nil
	}
	for part := range strings.SplitSeq(dir, "/") {
		if part == "" || part == "." || part == ".." {
			return t, connectapi.ConfigError("topics.dir", fmt.Errorf("%q has the part %q", dir, part))
		}
	}
	switch {
	case t.folder != "":
		t.folder = filepath.Join(t.folder, filepath.FromSlash(dir))
	case instead || t.prefix == "":
		t.prefix = dir
	default:
		t.prefix += "/" + dir
	}
	return t, nil
}

// class returns the last part of a class name without its suffix, in lower case.
func class(name, suffix string) string {
	name = name[strings.LastIndexAny(name, ".$")+1:]
	return strings.ToLower(strings.TrimSuffix(name, suffix))
}

// check finds what is wrong without going outside.
func (c *Config) check() error {
	var all []error
	if _, err := c.target(); err != nil {
		all = append(all, err)
	}
	if class(c.Format, "Format") != "parquet" {
		all = append(all, connectapi.ConfigError("format.class", fmt.Errorf("%s is not written by this connector: only ParquetFormat is", c.Format)))
	}
	if !strings.EqualFold(c.Compatible, "none") {
		all = append(all, connectapi.ConfigError("schema.compatibility", fmt.Errorf("%s is not offered: records are not projected to another version; with NONE each version has files of its own", c.Compatible)))
	}
	if (c.AccessKey == "") != (c.SecretKey == "") {
		all = append(all, connectapi.ConfigError("aws.secret.access.key", errors.New("and aws.access.key.id go together: set both or neither")))
	}
	_, err := newPartitioner(c, time.Now)
	return errors.Join(append(all, err)...)
}

func validate(ctx context.Context, c Config) error {
	err := c.check()
	if _, broken := c.target(); broken != nil {
		return err
	}
	s, storeErr := openStore(&c)
	if storeErr == nil {
		storeErr = s.check(ctx)
	}
	return errors.Join(err, storeErr)
}
