package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/penstockio/penstock/internal/testenv"
)

// toolRun is one command of Apache Kafka's tools and what it must say.
type toolRun struct {
	line  string // class and arguments; B stands for --bootstrap-server and the server
	want  string // a regular expression over its output; "" for none
	wrong bool   // the tool must end with an error
	trace bool   // this tool shows a stack trace at every error, whatever the broker says
}

// short names of the tools' classes.
var toolClass = map[string]string{
	"topics": "org.apache.kafka.tools.TopicCommand", "configs": "kafka.admin.ConfigCommand",
	"groups": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", "allgroups": "org.apache.kafka.tools.GroupsCommand",
	"delete-records": "org.apache.kafka.tools.DeleteRecordsCommand", "offsets": "org.apache.kafka.tools.GetOffsetShell",
	"log-dirs": "org.apache.kafka.tools.LogDirsCommand", "versions": "org.apache.kafka.tools.BrokerApiVersionsCommand",
	"features": "org.apache.kafka.tools.FeatureCommand", "elect": "org.apache.kafka.tools.LeaderElectionCommand",
	"reassign": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand", "cluster": "org.apache.kafka.tools.ClusterTool",
	"client-metrics": "org.apache.kafka.tools.ClientMetricsCommand",
	"producer":       "org.apache.kafka.tools.ConsoleProducer", "consumer": "org.apache.kafka.tools.consumer.ConsoleConsumer",
	"producer-perf": "org.apache.kafka.tools.ProducerPerformance", "consumer-perf": "org.apache.kafka.tools.ConsumerPerformance",
	"end-to-end": "org.apache.kafka.tools.EndToEndLatency", "verifiable-producer": "org.apache.kafka.tools.VerifiableProducer",
	"verifiable-consumer": "org.apache.kafka.tools.VerifiableConsumer",
}

var topicTools = []toolRun{
	{line: "topics B --create --topic orders --partitions 3 --replication-factor 1 --config retention.ms=3600000", want: `Created topic orders`},
	{line: "topics B --create --topic orders", want: `"orders" already exists`, wrong: true},
	{line: "topics B --create --topic orders --if-not-exists"},
	{line: "topics B --create --topic bad$name", want: `allowed are a-z`, wrong: true},
	{line: "topics B --create --topic x --partitions 0", want: `greater than 0`, wrong: true},
	{line: "topics B --create --topic x --config no.such=1", want: `no.such`, wrong: true},
	{line: "topics B --create --topic x --config retention.ms=-2", want: `retention.ms`, wrong: true},
	{line: "topics B --create --topic clamped --replication-factor 3", want: `Created topic clamped`},
	{line: "topics B --create --topic assigned --replica-assignment 1,1", want: `Created topic assigned`},
	{line: "topics B --list", want: `(?s)assigned\n.*orders\n`},
	{line: "topics B --describe --topic orders", want: `PartitionCount: 3\tReplicationFactor: 1\tConfigs: retention.ms=3600000\n.*Partition: 0\tLeader: 1\tReplicas: 1\tIsr: 1`},
	{line: "topics B --describe --topic nosuch", want: `'nosuch' does not exist`, wrong: true},
	{line: "topics B --describe --topics-with-overrides", want: `Topic: orders\t`},
	{line: "topics B --describe --under-replicated-partitions", want: `^\s*$`},
	{line: "topics B --describe --unavailable-partitions", want: `^\s*$`},
	{line: "topics B --alter --topic orders --partitions 4"},
	{line: "topics B --alter --topic orders --partitions 2", want: `has 4 partitions and can't have 2`, wrong: true},
	{line: "topics B --alter --topic nosuch --partitions 2", want: `does not exist`, wrong: true},
	{line: "topics B --delete --topic assigned"},
	{line: "topics B --delete --topic nosuch", want: `does not exist`, wrong: true},
	{line: "configs B --describe --topic orders", want: `retention.ms=3600000 sensitive=false`},
	{line: "configs B --describe --topic orders --all", want: `(?s)cleanup.policy=delete.*min.insync.replicas=1.*segment.bytes=`},
	{line: "configs B --alter --topic orders --add-config cleanup.policy=[compact,delete],segment.bytes=1048576", want: `Completed updating config for topic orders`},
	{line: "configs B --describe --topic orders", want: `cleanup.policy=compact,delete`},
	{line: "configs B --alter --topic orders --delete-config cleanup.policy,segment.bytes,not.set", want: `Completed`},
	{line: "configs B --describe --topic orders", want: `^Dynamic configs for topic orders are:\n  retention.ms=\S+ [^\n]*\n$`},
	{line: "configs B --alter --topic orders --add-config retention.ms=x", want: `retention.ms="x": want a whole number`, wrong: true, trace: true},
	{line: "configs B --alter --topic nosuch --add-config retention.ms=1", want: `topic "nosuch": This server does not host`, wrong: true, trace: true},
	{line: "configs B --describe --topic nosuch", want: `doesn't exist`},
	{line: "configs B --describe --entity-type topics", want: `for topic orders are`},
	{line: "configs B --describe --broker 1 --all", want: `log.retention.ms=604800000`},
	{line: "configs B --describe --broker-defaults", want: `Default configs for brokers`},
	{line: "configs B --describe --group g1", want: `doesn't exist`},
	{line: "configs B --describe --client-metrics m", want: `doesn't exist`},
	{line: "client-metrics B --list", want: `^\s*$`},
}

var groupTools = []toolRun{
	{line: "<k1:v1\\nk2:v2\\nk3:v3\\n"},
	{line: "producer B --topic orders --reader-property parse.key=true --reader-property key.separator=:"},
	{line: "consumer B --topic orders --from-beginning --max-messages 3 --group g1 --formatter-property print.key=true --timeout-ms 20000", want: `(?s)k\d\tv\d\n.*k\d\tv\d\n.*Processed a total of 3`},
	{line: "consumer B --topic orders --group g1 --timeout-ms 1500", want: `Processed a total of 0`},
	{line: "groups B --list", want: `g1\n`},
	{line: "groups B --list --state", want: `g1\s+Empty`},
	{line: "groups B --list --state Stable", want: `live\s+Stable`},
	{line: "groups B --list --type classic", want: `g1\s+Classic`},
	{line: "groups B --list --type consumer", want: `^\s*(GROUP\s+TYPE\s*)?$`},
	{line: "allgroups B --list", want: `g1\s+Classic\s+consumer`},
	{line: "allgroups B --list --consumer", want: `g1\s`},
	{line: "groups B --describe --group g1", want: `g1\s+orders\s+0\s+\d\s+\d\s+0`},
	{line: "groups B --describe --group g1 --state", want: `g1\s+127.0.0.1:\d+ +\(1\)\s+-\s+Empty\s+0`},
	{line: "groups B --describe --group live --members --verbose", want: `live\s+i1-\S+\s+i1\s+/127.0.0.1\s+\S+\s+1\s+\S*\s*(live-topic|\d+)`},
	{line: "groups B --describe --group live --state", want: `live\s.*cooperative-sticky\s+Stable\s+1`},
	{line: "groups B --describe --all-groups --offsets", want: `g1\s+orders`},
	{line: "groups B --describe --group nosuch", want: `group "nosuch": The group id does not exist`, trace: true},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-earliest --dry-run", want: `g1\s+orders\s+1\s+0`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-earliest --execute", want: `g1\s+orders\s+1\s+0`},
	{line: "groups B --describe --group g1", want: `g1\s+orders\s+1\s+0\s+`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-latest --execute", want: `g1\s+orders\s`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-current --execute", want: `g1\s+orders\s`},
	{line: "groups B --reset-offsets --group g1 --topic orders --shift-by -1 --execute", want: `g1\s+orders\s`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-offset 1 --execute", want: `g1\s+orders\s`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-datetime 2020-01-01T00:00:00.000 --execute", want: `g1\s+orders\s+1\s+0`},
	{line: "groups B --reset-offsets --group g1 --topic orders --to-datetime 2099-01-01T00:00:00.000 --execute", want: `g1\s+orders\s`},
	{line: "groups B --reset-offsets --group g1 --topic orders --by-duration PT1H --execute", want: `g1\s+orders\s+1\s+0`},
	{line: "groups B --reset-offsets --group g1 --all-topics --to-latest --export --dry-run", want: `(?m)^orders,0,\d$`},
	{line: "groups B --reset-offsets --group fresh --topic orders:0,1 --to-latest --execute", want: `fresh\s+orders\s`},
	{line: "groups B --reset-offsets --group live --topic live-topic --to-latest --execute", want: `inactive`},
	{line: "groups B --delete-offsets --group g1 --topic orders:0", want: `orders\s+0\s+Successful`},
	{line: "groups B --delete-offsets --group live --topic live-topic", want: `live-topic\s+0\s+Error: .*(subscribed|GroupSubscribed)`},
	{line: "groups B --delete-offsets --group nosuch --topic orders", want: `does not exist|not found`},
	{line: "groups B --delete --group fresh", want: `'fresh'\) was successful`},
	{line: "groups B --delete --group live", want: `(?i)not empty`},
	{line: "groups B --delete --group nosuch", want: `does not exist|not found`},
}

var clusterTools = []toolRun{
	{line: "offsets B --topic orders --time -1", want: `orders:3:\d`},
	{line: "offsets B --topic orders --time earliest", want: `orders:0:0`},
	{line: "offsets B --topic orders --time max-timestamp", want: `orders:0:`},
	{line: "offsets B --topic orders --time earliest-local", want: `orders:0:0`},
	{line: "offsets B --topic orders --time latest-tiered", want: `^\s*$`},
	{line: "offsets B --topic orders --time 0", want: `orders:0:`},
	{line: "offsets B --topic orders --time 9999999999999", want: `^\s*$`},
	{line: "offsets B --topic-partitions orders:0-2,live-topic:0", want: `(?s)live-topic:0:1\n.*orders:1:`},
	{line: "offsets B --topic nosuch", want: `(?i)could not match`, wrong: true},
	{line: "delete-records B --offset-json-file DELETE", want: `orders-0\s+low_watermark: \d`},
	{line: "delete-records B --offset-json-file DELETE-TOO-FAR", want: `(?s)orders-0\s.*(out of range|OffsetOutOfRange|beyond|the end is)`},
	{line: "log-dirs B --describe --topic-list live-topic", want: `"partition":"live-topic-0","size":\d{2,}`},
	{line: "versions B", want: `(?s)Produce\(0\): 0 to 13 \[usable: 13\].*DescribeTopicPartitions\(75\): 0`},
	{line: "features B describe"},
	{line: "elect B --election-type preferred --all-topic-partitions", want: `^\s*$`},
	{line: "elect B --election-type preferred --topic orders --partition 0", want: `(?i)already`},
	{line: "elect B --election-type unclean --topic orders --partition 9", want: `"orders", partition 9`, wrong: true, trace: true},
	{line: "reassign B --list", want: `No partition reassignments`},
	{line: "cluster cluster-id B", want: `Cluster ID: \S{22}`},
	{line: "cluster list-endpoints B", want: `unfenced`},
	{line: "producer-perf --topic perf --num-records 5000 --record-size 100 --throughput -1 --producer-props bootstrap.servers=SERVER acks=all", want: `5000 records sent`},
	{line: "consumer-perf B --topic perf --messages 5000 --timeout 20000", want: `, 5000, `},
	{line: "end-to-end B --topic e2e --num-records 20 --producer-acks all --record-size 100", want: `Percentiles: 50th`},
	{line: "verifiable-producer B --topic verified --max-messages 50 --acks -1", want: `startup_complete`},
	{line: "verifiable-consumer B --topic verified --group-id v --max-messages 50 --reset-policy earliest", want: `partitions_assigned`},
	{line: "topics B --delete --topic orders"},
	{line: "topics B --list", want: `perf`},
}

// TestJavaTools runs Apache Kafka's command line tools, right input and wrong, and reads what they say.
func TestJavaTools(t *testing.T) {
	t.Parallel()
	s := server(t)
	live := client(t, s, kgo.ConsumerGroup("live"), kgo.ConsumeTopics("live-topic"), kgo.InstanceID("i1"), kgo.AllowAutoTopicCreation(),
		kgo.DefaultProduceTopic("live-topic"), kgo.SessionTimeout(time.Minute))
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := live.ProduceSync(ctx, &kgo.Record{Value: []byte("x")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	go func() { // until the client is closed
		for !live.PollFetches(context.Background()).IsClientClosed() {
		}
	}()
	dir := t.TempDir()
	deleteTo := func(name string, offset int) string {
		file := filepath.Join(dir, name)
		write(t, file, fmt.Sprintf(`{"version":1,"partitions":[{"topic":"orders","partition":0,"offset":%d}]}`, offset))
		return file
	}
	words := strings.NewReplacer("DELETE-TOO-FAR", deleteTo("far", 1000), "DELETE", deleteTo("all", -1), "SERVER", s.Broker)
	var all, runs []toolRun
	for _, part := range [][]toolRun{topicTools, groupTools, clusterTools} {
		all = append(all, part...)
	}
	var script strings.Builder
	for _, r := range all {
		if strings.HasPrefix(r.line, "<") {
			script.WriteString(r.line + "\n")
			continue
		}
		runs = append(runs, r)
		class, rest, _ := strings.Cut(r.line, " ")
		args := strings.Fields(words.Replace(rest))
		for i, a := range args {
			if a == "B" {
				args[i] = "--bootstrap-server\t" + s.Broker
			}
		}
		script.WriteString(toolClass[class] + "\t" + strings.Join(args, "\t") + "\n")
	}
	file := filepath.Join(dir, "script")
	write(t, file, script.String())
	cmd := testenv.KafkaTool(ctx, t, filepath.Join(testenv.Root(), "internal/e2e/testdata/java/Tools.java"), file)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running the tools: %v\n%s", err, out)
	}
	parts := regexp.MustCompile(`(?m)^### (\d+)\n`).FindAllStringSubmatchIndex(string(out), -1)
	if len(parts) != len(runs) {
		t.Fatalf("%d of %d tools ran:\n%s", len(parts), len(runs), out)
	}
	for i, r := range runs {
		end := len(out)
		if i+1 < len(parts) {
			end = parts[i+1][0]
		}
		r.check(t, string(out[parts[i][2]:parts[i][3]]), string(out[parts[i][1]:end]))
	}
	if n := strings.Count(string(out), `"producer_send_success"`); n != 50 {
		t.Errorf("the verifiable producer was told of %d of 50 records", n)
	}
}

var stackTrace = regexp.MustCompile(`(?m)^\s+at \S+\(\S*\)$`)

func (r toolRun) check(t *testing.T, status, said string) {
	t.Helper()
	if (status != "0") != r.wrong {
		t.Errorf("%s ended with %s:\n%s", r.line, status, said)
	}
	if ok, err := regexp.MatchString(r.want, said); err != nil || !ok {
		t.Errorf("%s did not say %s (%v):\n%s", r.line, r.want, err, said)
	}
	if !r.trace && stackTrace.MatchString(said) {
		t.Errorf("%s shows a stack trace:\n%s", r.line, said)
	}
}
