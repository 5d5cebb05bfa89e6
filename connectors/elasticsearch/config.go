package elasticsearch

import (
	"time"

	"github.com/penstockio/penstock/connect-api"
)

// Config holds the keys: Confluent's names, and a few of our own that say so.
type Config struct {
	URLs         []string            `connect:"connection.url,required,format=url,example=http://localhost:9200" doc:"URLs of the servers, http or https, separated by commas. One that does not answer is left out for a while."`
	Username     string              `connect:"connection.username,default=" doc:"User of basic authentication."`
	Password     connectapi.Password `connect:"connection.password,default=" doc:"Password of the user."`
	APIKey       connectapi.Password `connect:"connection.api.key,default=" doc:"API key in its encoded form (base64 of id:key), instead of a user. Penstock's own key."`
	Compression  bool                `connect:"connection.compression,default=false,importance=low" doc:"Whether requests are compressed with gzip."`
	DialTimeout  time.Duration       `connect:"connection.timeout.ms,default=1000,min=1,importance=low" doc:"How long connecting to a server may take (ms)."`
	ReadTimeout  time.Duration       `connect:"read.timeout.ms,default=60000,min=1,importance=low" doc:"How long a server may take to answer (ms). A bulk request that took longer is sent again with twice the time, as it may have been applied; Confluent's 3000 makes slow servers slower."`
	IdleTime     time.Duration       `connect:"max.connection.idle.time.ms,default=60000,min=0,importance=low" doc:"How long an unused connection is kept (ms)."`
	Protocol     string              `connect:"elastic.security.protocol,default=PLAINTEXT,suggest=PLAINTEXT|SSL" doc:"SSL demands https URLs."`
	TrustFile    string              `connect:"elastic.https.ssl.truststore.location,default=,format=path" doc:"PEM file of the authorities that sign servers' certificates. Without one the system's are trusted."`
	TrustPEM     connectapi.Password `connect:"elastic.https.ssl.truststore.certificates,default=" doc:"The same as PEM text."`
	TrustType    string              `connect:"elastic.https.ssl.truststore.type,default=PEM,importance=low" doc:"PEM. Java's JKS and PKCS12 stores are exported with: keytool -exportcert -rfc."`
	KeyFile      string              `connect:"elastic.https.ssl.keystore.location,default=,format=path" doc:"PEM file with the client's certificate and unencrypted private key."`
	KeyType      string              `connect:"elastic.https.ssl.keystore.type,default=PEM,importance=low" doc:"PEM."`
	VerifyHost   string              `connect:"elastic.https.ssl.endpoint.identification.algorithm,default=https,importance=low" doc:"https, or empty: a certificate's host name is not checked."`
	Fingerprint  string              `connect:"elastic.https.ssl.ca.fingerprint,default=,importance=low" doc:"SHA-256 fingerprint, in hex, of the authority's or server's certificate, as Elasticsearch prints it at its first start; instead of a PEM file. Penstock's own key."`
	BatchSize    int32               `connect:"batch.size,default=2000,min=1,max=1000000" doc:"Most documents of a bulk request."`
	BulkBytes    int64               `connect:"bulk.size.bytes,default=5242880,min=1024" doc:"Most bytes of a bulk request, but for one document that is larger."`
	Linger       time.Duration       `connect:"linger.ms,default=1,min=0,max=604800000,importance=low" doc:"How long a request that is not full waits for more documents (ms)."`
	InFlight     int32               `connect:"max.in.flight.requests,default=5,min=1,max=1000" doc:"Most bulk requests under way at once. Documents of one id go through one of so many lanes, so their order is kept."`
	Buffered     int32               `connect:"max.buffered.records,default=20000,min=1,importance=low" doc:"Most records held by a task."`
	BufferBytes  int64               `connect:"max.buffered.bytes,default=33554432,min=1048576,importance=low" doc:"Most bytes of documents held by a task. Penstock's own key."`
	MaxRetries   int32               `connect:"max.retries,default=5,min=0,importance=low" doc:"How often a request or document is sent again after an error of the server's (500, version conflict of an update, an answer that makes no sense). A server that is away, overloaded or blocked is waited for without limit."`
	Backoff      time.Duration       `connect:"retry.backoff.ms,default=100,min=1,importance=low" doc:"First pause before sending again (ms); it doubles up to 10 s, with jitter."`
	KeyIgnore    bool                `connect:"key.ignore,default=false" doc:"Whether ids are topic+partition+offset instead of the record's key."`
	TopicKeyIgn  []string            `connect:"topic.key.ignore,default=,importance=low" doc:"Topics for which key.ignore is true."`
	SchemaIgnore bool                `connect:"schema.ignore,default=false" doc:"Whether mappings are left to Elasticsearch instead of made from schemas."`
	TopicSchIgn  []string            `connect:"topic.schema.ignore,default=,importance=low" doc:"Topics for which schema.ignore is true."`
	CompactMaps  bool                `connect:"compact.map.entries,default=true,importance=low" doc:"Whether maps with string keys become objects; otherwise, and with other keys, an array of {key,value}."`
	WriteMethod  string              `connect:"write.method,default=INSERT,suggest=INSERT|UPSERT" doc:"INSERT replaces a document, with an external version so that replays never put an older one back; UPSERT changes the fields a record carries and inserts what is not there."`
	VersionFrom  string              `connect:"external.version.header,default=,importance=low" doc:"Header that holds the version of INSERT and of its deletes; without one it is the record's offset."`
	OnNull       string              `connect:"behavior.on.null.values,default=FAIL,suggest=FAIL|IGNORE|DELETE" doc:"What a record without a value does: fail, nothing, or delete the document."`
	OnMalformed  string              `connect:"behavior.on.malformed.documents,default=FAIL,suggest=FAIL|WARN|IGNORE" doc:"What a document that Elasticsearch refuses does: fail the record, be logged and dropped, be dropped."`
	DropInvalid  bool                `connect:"drop.invalid.message,default=false,importance=low" doc:"Whether records that cannot become documents are logged and dropped instead of failed."`
	IndexName    string              `connect:"index.name.format,default=${topic},importance=low" doc:"Name of the index; ${topic} stands for the record's topic in lower case. Penstock's own key."`
	Decimals     string              `connect:"decimal.handling,default=double,suggest=double|keyword,importance=low" doc:"How Decimals are mapped: double (the document holds all digits, the index a double) or keyword (a string). Penstock's own key."`
}
