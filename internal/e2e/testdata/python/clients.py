"""Produces and consumes with Python's Kafka clients: confluent (librdkafka) or kafka-python.

Arguments: which client, bootstrap servers, number of records a topic, topics to produce to (name:codec:acks, comma
separated), topics to consume (comma separated). For each topic consumed it prints name, number of records and the SHA-256
over length and bytes of keys and values. Then it uses what an administrator uses, and prints "admin ok".
"""

import hashlib
import sys
import time


def key(i):
    return None if i % 5 == 4 else b"k%d" % i


def value(i):
    return None if i % 11 == 10 else bytes((i * 31 + j // 3) & 255 for j in range(i * 37 % 3000))


class Digest:
    def __init__(self):
        self.sha, self.n = hashlib.sha256(), 0

    def add(self, *parts):
        for b in parts:
            self.sha.update(b"-1;" if b is None else b"%d;" % len(b) + b)
        self.n += 1


def check(ok, what):
    if not ok:
        raise SystemExit("wrong: " + what)


class Confluent:
    def __init__(self, bootstrap):
        import confluent_kafka

        self.m, self.conf = confluent_kafka, {"bootstrap.servers": bootstrap}
        print("version", confluent_kafka.version(), confluent_kafka.libversion(), file=sys.stderr)

    def make(self, topic, codec, acks, n):
        failed = []
        p = self.m.Producer(self.conf | {"compression.type": codec, "acks": acks, "linger.ms": 20, "enable.idempotence": acks == "all"})
        for i in range(n):
            p.produce(topic, value=value(i), key=key(i), partition=0, on_delivery=lambda e, m: failed.append(e) if e else None)
        check(p.flush(30) == 0 and not failed, f"producing to {topic}: {failed[:1]}")

    def read(self, topic, n):
        c = self.m.Consumer(self.conf | {"group.id": "confluent-" + topic, "auto.offset.reset": "earliest", "enable.auto.commit": False})
        c.subscribe([topic])
        d, end = Digest(), time.time() + 30
        while d.n < n and time.time() < end:
            m = c.poll(0.2)
            if m is not None and not m.error():
                d.add(m.key(), m.value())
        c.commit(asynchronous=False)
        at = c.committed([self.m.TopicPartition(topic, 0)], timeout=10)[0].offset
        check(at == n, f"{topic} is committed at {at}")
        times = c.offsets_for_times([self.m.TopicPartition(topic, 0, 1)], timeout=10)
        check(times[0].offset == 0, f"offset for a time: {times}")
        c.close()
        return d

    def admin(self):
        from confluent_kafka import ConsumerGroupTopicPartitions, TopicPartition, admin

        a = admin.AdminClient(self.conf)
        done = lambda fs: [f.result(30) for f in fs.values()]
        done(a.create_topics([admin.NewTopic("confluent-admin", 2, 1, config={"retention.ms": "60000"})]))
        done(a.create_partitions([admin.NewPartitions("confluent-admin", 3)]))
        check(len(a.list_topics("confluent-admin", 10).topics["confluent-admin"].partitions) == 3, "partitions")
        about = done(a.describe_topics(self.m.TopicCollection(["confluent-admin"])))[0]
        check(len(about.partitions) == 3, "describe_topics")
        res = admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "confluent-admin")
        check(done(a.describe_configs([res]))[0]["retention.ms"].value == "60000", "describe_configs")
        op = admin.ConfigEntry("retention.ms", "70000", incremental_operation=admin.AlterConfigOpType.SET)
        done(a.incremental_alter_configs([admin.ConfigResource(admin.ConfigResource.Type.TOPIC, "confluent-admin", incremental_configs=[op])]))
        check(done(a.describe_configs([res]))[0]["retention.ms"].value == "70000", "incremental_alter_configs")
        groups = [g.group_id for g in a.list_consumer_groups().result(30).valid]
        check(any(g.startswith("confluent-") for g in groups), f"groups {groups}")
        group = next(g for g in groups if g.startswith("confluent-"))
        topic = group.removeprefix("confluent-")
        check(done(a.describe_consumer_groups([group]))[0].state.name in ("EMPTY", "STABLE"), "describe_consumer_groups")
        at = done(a.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))[0].topic_partitions[0]
        check(at.topic == topic and at.offset > 0, f"offsets {at}")
        done(a.alter_consumer_group_offsets([ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])]))
        at = done(a.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)]))[0].topic_partitions[0]
        check(at.offset == 1, f"altered offset {at}")
        ends = done(a.list_offsets({TopicPartition(topic, 0): admin.OffsetSpec.latest()}))[0]
        check(ends.offset > 0, f"list_offsets {ends}")
        done(a.delete_records([TopicPartition(topic, 0, 1)]))
        done(a.delete_consumer_groups([group]))
        check(len(a.describe_cluster().result(30).nodes) == 1, "describe_cluster")
        done(a.delete_topics(["confluent-admin"]))


class KafkaPython:
    def __init__(self, bootstrap):
        import kafka

        self.m, self.at = kafka, {"bootstrap_servers": bootstrap}
        print("version", kafka.__version__, file=sys.stderr)

    def make(self, topic, codec, acks, n):
        codec = None if codec == "none" else codec
        p = self.m.KafkaProducer(**self.at, compression_type=codec, acks=acks if acks == "all" else int(acks), linger_ms=20, enable_idempotence=acks == "all")
        # It refuses a record with neither key nor value: that one gets an empty value here.
        some = lambda i: b"" if key(i) is None and value(i) is None else value(i)
        sent = [p.send(topic, value=some(i), key=key(i), partition=0) for i in range(n)]
        p.flush(30)
        for f in sent:
            f.get(30)
        p.close()

    def read(self, topic, n):
        c = self.m.KafkaConsumer(topic, **self.at, group_id="kpy-" + topic, auto_offset_reset="earliest", enable_auto_commit=False)
        d, end = Digest(), time.time() + 30
        while d.n < n and time.time() < end:
            for records in c.poll(200).values():
                for r in records:
                    d.add(r.key, r.value)
        c.commit()
        tp = self.m.TopicPartition(topic, 0)
        check(c.committed(tp) == n, f"{topic} is committed at {c.committed(tp)}")
        check(c.offsets_for_times({tp: 1})[tp].offset == 0, "offset for a time")
        c.close()
        return d

    def admin(self):
        from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions, NewTopic

        a = KafkaAdminClient(**self.at)
        a.create_topics([NewTopic("kpy-admin", 2, 1, topic_configs={"retention.ms": "60000"})])
        a.create_partitions({"kpy-admin": NewPartitions(3)})
        check(len(a.describe_topics(["kpy-admin"])[0]["partitions"]) == 3, "partitions")
        check("60000" in str(a.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "kpy-admin")])), "describe_configs")
        a.alter_configs([ConfigResource(ConfigResourceType.TOPIC, "kpy-admin", {"retention.ms": "70000"})])
        check("70000" in str(a.describe_configs([ConfigResource(ConfigResourceType.TOPIC, "kpy-admin")])), "alter_configs")
        groups = str(a.list_groups() if hasattr(a, "list_groups") else a.list_consumer_groups())
        check("kpy-" in groups, f"groups {groups}")
        check("kpy-admin" in a.list_topics(), "list_topics")
        a.delete_topics(["kpy-admin"])
        a.close()


def main():
    which, bootstrap, n, makes, reads = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[5]
    client = {"confluent": Confluent, "kafka-python": KafkaPython}[which](bootstrap)
    for t in makes.split(","):
        client.make(*t.split(":"), n)
    for t in reads.split(","):
        d = client.read(t, n)
        print("read", t, d.n, d.sha.hexdigest())
    client.admin()
    print("admin ok")


main()
