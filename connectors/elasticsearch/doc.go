// Package elasticsearch holds the sink connector elasticsearch: records become documents of Elasticsearch or OpenSearch.
//
// It owns how a record becomes an item of a bulk request (action, id, version, JSON), how items are batched, sent, judged
// and sent again, and how indices and mappings are made. It never reads documents, and knows nothing of processes and
// Kafka: package serve drives it.
//
// # Documents
//
// The index is the record's topic in lower case; the id its key, a string or an integer (or topic+partition+offset). A
// value with a schema goes from its bytes to JSON directly; a value without one passes as it is. Dates and times become
// ISO text (Kafka Connect's Timestamp: milliseconds), Decimals numbers with all their digits, bytes base64. A null of a
// field stays an explicit null.
//
// INSERT replaces documents and carries the record's offset as external version, so that what is sent again never puts an
// older document in place of a newer: the conflict (409) is success and is counted. A topic that is made anew begins with
// low offsets, and then such conflicts are lost writes: delete the index with the topic, or use external.version.header.
// UPSERT changes fields (update with doc and upsert) and deletes; the server lets it carry no version, so its order rests
// on I2 alone: after an answer that never came, the first request may still run behind the second.
//
// # Errors
//
// A server that is away, answers 429, 502 to 504, or blocks an index is waited for without limit, with growing pauses,
// and the task's status says for what. 500 and answers that make no sense are tried max.retries times, then the task
// fails; so does a task at once whose credentials or privileges are refused, or whose index may not be made. Documents
// that the server refuses (400) follow behavior.on.malformed.documents; a request refused as a whole is sent in halves
// until the one document at fault is found.
//
// # Invariants
//
//	I1. An offset is committed only when each record below it is durable, failed, or asked for nothing.
//	I2. Items of one index and id are sent in the order they came, one request at a time; whatever of them is sent
//	    again, later ones of the id are sent again after it.
//	I3. Items are judged by their status before the names of errors, and an answer counts only if it holds an item for
//	    each sent, with its id.
//	I4. A bulk body is lines of valid JSON: nothing in a record can put a line feed into it.
//	I5. A task holds at most max.buffered.records and max.buffered.bytes, and one record more.
//	I6. No secret stands in an error or in the log.
package elasticsearch
