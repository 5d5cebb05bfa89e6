"""Transactions with librdkafka: the same as testdata/java/Transactions.java does.

Arguments: "write" with bootstrap servers and a topic, or "read" with bootstrap servers and topics (comma separated).
"""
import sys
import time

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition, OFFSET_BEGINNING


def producer(servers, name):
    p = Producer({"bootstrap.servers": servers, "transactional.id": name, "linger.ms": 0})
    p.init_transactions(30)
    return p


def send(p, topic, value):
    failed = []
    p.produce(topic, value.encode(), partition=0, on_delivery=lambda err, _: failed.append(err) if err else None)
    p.flush(30)
    if failed:
        raise KafkaException(failed[0])


def write(servers, topic):
    good, bad = producer(servers, topic + "-good"), producer(servers, topic + "-bad")
    of = Consumer({"bootstrap.servers": servers, "group.id": topic + "-group"})
    for r in range(5):
        good.begin_transaction()
        bad.begin_transaction()
        for i in range(4):
            send(bad, topic, f"a-{r}-{i}")
            send(good, topic, f"c-{r}-{i}")
        group = of.consumer_group_metadata()
        good.send_offsets_to_transaction([TopicPartition(topic, 0, 100 + r)], group, 30)
        bad.send_offsets_to_transaction([TopicPartition(topic, 0, 900 + r)], group, 30)
        if r % 2 == 0:
            bad.abort_transaction(30)
            good.commit_transaction(30)
        else:
            good.commit_transaction(30)
            bad.abort_transaction(30)
    print("group", of.committed([TopicPartition(topic, 0)], 30)[0].offset)
    of.close()
    fence(servers, topic)


def fence(servers, topic):
    first = producer(servers, topic + "-fenced")
    first.begin_transaction()
    send(first, topic, "a-fenced")
    second = producer(servers, topic + "-fenced")
    try:
        send(first, topic, "a-late")
        first.commit_transaction(30)
        print("fenced not at all")
    except KafkaException as e:
        print("fenced", "true" if e.args[0].name() in ("_FENCED", "PRODUCER_FENCED", "INVALID_PRODUCER_EPOCH") else e)
    second.begin_transaction()
    send(second, topic, "c-second")
    second.commit_transaction(30)


def read(servers, topic, level):
    c = Consumer({"bootstrap.servers": servers, "group.id": "reads", "isolation.level": level, "enable.partition.eof": True,
                  "enable.auto.commit": False, "fetch.wait.max.ms": 50})
    c.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    got, until = [], time.time() + 30
    while time.time() < until:
        m = c.poll(1)
        if m is None:
            continue
        if m.error():
            break  # the end
        got.append(m.value().decode())
    c.close()
    print(level, topic, ",".join(got))


if sys.argv[1] == "write":
    write(sys.argv[2], sys.argv[3])
else:
    for t in sys.argv[3].split(","):
        for level in ("read_committed", "read_uncommitted"):
            read(sys.argv[2], t, level)
