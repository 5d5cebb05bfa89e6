import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.errors.*;
import org.apache.kafka.common.serialization.*;

/**
 * Transactions with Apache Kafka's own clients, all in one start of the JVM.
 *
 * Arguments: bootstrap servers, topic to write to, topics to read (comma separated), a transactional id that hangs and the topic
 * it hangs in.
 *
 * Two producers write interleaved transactions of 4 records into partition 0: one commits "c-round-i" and an offset of a
 * group, the other one's "a-round-i" is aborted. Then each topic is read with both isolation levels and printed.
 */
public class Transactions {
  static String servers;

  public static void main(String[] args) throws Exception {
    servers = args[0];
    String topic = args[1];
    write(topic);
    fence(topic);
    for (String t : args[2].split(",")) {
      for (String level : List.of("read_committed", "read_uncommitted")) {
        System.out.println(level + " " + t + " " + read(t, level));
      }
    }
    admin(args[4], args[3]);
  }

  static Properties props(String... more) {
    Properties p = new Properties();
    p.put("bootstrap.servers", servers);
    for (int i = 0; i < more.length; i += 2) p.put(more[i], more[i + 1]);
    return p;
  }

  static Producer<String, String> producer(String id) {
    Producer<String, String> p = new KafkaProducer<>(props("transactional.id", id), new StringSerializer(), new StringSerializer());
    p.initTransactions();
    return p;
  }

  static void write(String topic) throws Exception {
    TopicPartition at = new TopicPartition(topic, 0);
    Properties of = props("group.id", topic + "-group");
    try (Producer<String, String> good = producer(topic + "-good"); Producer<String, String> bad = producer(topic + "-bad");
        Consumer<String, String> group = new KafkaConsumer<>(of, new StringDeserializer(), new StringDeserializer())) {
      for (int r = 0; r < 5; r++) {
        good.beginTransaction();
        bad.beginTransaction();
        for (int i = 0; i < 4; i++) {
          bad.send(new ProducerRecord<>(topic, 0, null, "a-" + r + "-" + i)).get();
          good.send(new ProducerRecord<>(topic, 0, null, "c-" + r + "-" + i)).get();
        }
        good.sendOffsetsToTransaction(Map.of(at, new OffsetAndMetadata(100 + r)), group.groupMetadata());
        bad.sendOffsetsToTransaction(Map.of(at, new OffsetAndMetadata(900 + r)), group.groupMetadata());
        if (r % 2 == 0) {
          bad.abortTransaction();
          good.commitTransaction();
        } else {
          good.commitTransaction();
          bad.abortTransaction();
        }
      }
    }
    try (Admin admin = Admin.create(props())) {
      System.out.println("group " + admin.listConsumerGroupOffsets(topic + "-group").partitionsToOffsetAndMetadata().get().get(at).offset());
    }
  }

  /** A second producer of an id takes the first one's transaction away. */
  static void fence(String topic) throws Exception {
    try (Producer<String, String> first = producer(topic + "-fenced")) {
      first.beginTransaction();
      first.send(new ProducerRecord<>(topic, 0, null, "a-fenced")).get();
      try (Producer<String, String> second = producer(topic + "-fenced")) {
        try {
          first.send(new ProducerRecord<>(topic, 0, null, "a-late")).get();
          first.commitTransaction();
          System.out.println("fenced not at all");
        } catch (Exception e) {
          Throwable why = e.getCause() == null ? e : e.getCause();
          System.out.println("fenced " + (why instanceof ProducerFencedException || why instanceof InvalidProducerEpochException));
        }
        second.beginTransaction();
        second.send(new ProducerRecord<>(topic, 0, null, "c-second"));
        second.commitTransaction();
      }
    }
  }

  static String read(String topic, String level) {
    TopicPartition at = new TopicPartition(topic, 0);
    Properties p = props("isolation.level", level, "auto.offset.reset", "earliest");
    List<String> got = new ArrayList<>();
    try (Consumer<String, String> c = new KafkaConsumer<>(p, new StringDeserializer(), new StringDeserializer())) {
      c.assign(List.of(at));
      c.seekToBeginning(List.of(at));
      long end = c.endOffsets(List.of(at)).get(at), until = System.currentTimeMillis() + 20_000;
      while (c.position(at) < end && System.currentTimeMillis() < until) {
        for (ConsumerRecord<String, String> r : c.poll(Duration.ofMillis(100))) got.add(r.value());
      }
    }
    return String.join(",", got);
  }

  /** What an administrator sees of a transaction that hangs, and how it is ended. */
  static void admin(String topic, String hanging) throws Exception {
    TopicPartition at = new TopicPartition(topic, 0);
    try (Admin admin = Admin.create(props())) {
      Collection<TransactionListing> open = admin.listTransactions(new ListTransactionsOptions().filterStates(Set.of(TransactionState.ONGOING))).all().get();
      System.out.println("open " + open.stream().map(TransactionListing::transactionalId).sorted().collect(Collectors.joining(",")));
      TransactionDescription d = admin.describeTransactions(List.of(hanging)).description(hanging).get();
      System.out.println("described " + d.state() + " " + d.topicPartitions() + " " + d.transactionStartTimeMs().isPresent());
      ProducerState ps = admin.describeProducers(List.of(at)).partitionResult(at).get().activeProducers().stream()
          .filter(s -> s.producerId() == d.producerId()).findFirst().get();
      System.out.println("producing " + (ps.producerEpoch() == d.producerEpoch()) + " " + ps.currentTransactionStartOffset().isPresent());
      admin.abortTransaction(new AbortTransactionSpec(at, ps.producerId(), (short) ps.producerEpoch(), ps.coordinatorEpoch().orElse(0))).all().get();
      admin.fenceProducers(List.of(hanging)).all().get();
      System.out.println("stable " + (offset(admin, at, IsolationLevel.READ_COMMITTED) == offset(admin, at, IsolationLevel.READ_UNCOMMITTED)));
    }
  }

  static long offset(Admin admin, TopicPartition at, IsolationLevel level) throws Exception {
    return admin.listOffsets(Map.of(at, OffsetSpec.latest()), new ListOffsetsOptions(level)).all().get().get(at).offset();
  }
}
