package kafka

import "github.com/twmb/franz-go/pkg/kmsg"

// apiKey is one request this broker serves.
type apiKey struct {
	key      int16
	min, max int16 // advertised
	handle   func(*Server, *call) answer
}

// now makes a handler of a function that has the answer when it returns.
func now(f func(*Server, *call) kmsg.Response) func(*Server, *call) answer {
	return func(s *Server, c *call) answer { return answer{resp: f(s, c)} }
}

// table is the closed list of requests. Minimum versions follow KIP-896 and what older clients look for: librdkafka
// leaves batches uncompressed unless Produce 0 is in range (KAFKA-18659) and looks for JoinGroup 0 (KAFKA-19444).
// Keys 24 to 26 and 28 end where Kafka's second protocol for transactions begins (KIP-890), which is not served.
var table []apiKey

// init fills the table: handlers refer to it, so it can't be initialized where it stands.
func init() {
	table = []apiKey{
		{0, 0, 13, (*Server).produce},
		{1, 4, 18, (*Server).fetch},
		{2, 1, 10, now((*Server).listOffsets)},
		{3, 0, 13, now((*Server).metadata)},
		{8, 2, 10, (*Server).offsetCommit},
		{9, 1, 10, now((*Server).offsetFetch)},
		{10, 0, 6, now((*Server).findCoordinator)},
		{11, 0, 9, now((*Server).joinGroup)},
		{12, 0, 4, now((*Server).heartbeat)},
		{13, 0, 5, now((*Server).leaveGroup)},
		{14, 0, 5, now((*Server).syncGroup)},
		{15, 0, 6, now((*Server).describeGroups)},
		{16, 0, 5, now((*Server).listGroups)},
		{18, 0, 5, now((*Server).apiVersions)},
		{19, 2, 7, now((*Server).createTopics)},
		{20, 1, 6, now((*Server).deleteTopics)},
		{21, 0, 2, now((*Server).deleteRecords)},
		{22, 0, 5, now((*Server).initProducerID)},
		{23, 2, 4, now((*Server).offsetForLeaderEpoch)},
		{24, 0, 3, (*Server).addPartitionsToTxn},
		{25, 0, 4, (*Server).addOffsetsToTxn},
		{26, 0, 4, (*Server).endTxn},
		{27, 1, 1, (*Server).writeTxnMarkers},
		{28, 0, 4, (*Server).txnOffsetCommit},
		{32, 1, 4, now((*Server).describeConfigs)},
		{33, 0, 2, now((*Server).alterConfigs)},
		{35, 1, 4, now((*Server).describeLogDirs)},
		{37, 0, 3, now((*Server).createPartitions)},
		{42, 0, 2, now((*Server).deleteGroups)},
		{43, 0, 2, now((*Server).electLeaders)},
		{44, 0, 1, now((*Server).incrementalAlterConfigs)},
		{46, 0, 0, now((*Server).listPartitionReassignments)},
		{47, 0, 0, now((*Server).offsetDelete)},
		{60, 0, 2, now((*Server).describeCluster)},
		{61, 0, 0, now((*Server).describeProducers)},
		{65, 0, 0, now((*Server).describeTransactions)},
		{66, 0, 2, now((*Server).listTransactions)},
		{74, 0, 1, now((*Server).listConfigResources)},
		{75, 0, 0, now((*Server).describeTopicPartitions)},
	}
}

const (
	fetchKey       = 1
	apiVersionsKey = 18
)

func lookup(key int16) *apiKey {
	for i := range table {
		if table[i].key == key {
			return &table[i]
		}
	}
	return nil
}
