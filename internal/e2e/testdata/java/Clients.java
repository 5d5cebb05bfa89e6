import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.util.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.serialization.*;

/**
 * Produces and consumes with Apache Kafka's own clients, all in one start of the JVM.
 *
 * Arguments: bootstrap servers, number of records a topic, topics to produce to (name:codec:acks, comma separated), topics to
 * consume (comma separated). For each topic consumed it prints name, number of records and the SHA-256 over length and bytes
 * of keys and values.
 */
public class Clients {
  public static void main(String[] args) throws Exception {
    int n = Integer.parseInt(args[1]);
    Properties base = new Properties();
    base.put("bootstrap.servers", args[0]);
    try (Admin admin = Admin.create(base)) {
      admin.createTopics(List.of(new NewTopic("java-made", 3, (short) 1))).all().get();
      System.out.println("partitions " + admin.describeTopics(List.of("java-made")).allTopicNames().get().get("java-made").partitions().size());
    }
    for (String t : args[2].split(",")) {
      String[] p = t.split(":");
      Properties props = new Properties();
      props.putAll(base);
      props.put("compression.type", p[1]);
      props.put("acks", p[2]);
      props.put("enable.idempotence", p[2].equals("all"));
      props.put("linger.ms", 20);
      try (Producer<byte[], byte[]> producer = new KafkaProducer<>(props, new ByteArraySerializer(), new ByteArraySerializer())) {
        for (int i = 0; i < n; i++) {
          producer.send(new ProducerRecord<>(p[0], 0, key(i), value(i)));
        }
        producer.flush();
      }
    }
    for (String t : args[3].split(",")) {
      Properties props = new Properties();
      props.putAll(base);
      props.put("group.id", "java-" + t);
      props.put("auto.offset.reset", "earliest");
      MessageDigest sha = MessageDigest.getInstance("SHA-256");
      int got = 0;
      try (Consumer<byte[], byte[]> consumer = new KafkaConsumer<>(props, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        consumer.subscribe(List.of(t));
        long end = System.currentTimeMillis() + 20_000;
        while (got < n && System.currentTimeMillis() < end) {
          for (ConsumerRecord<byte[], byte[]> r : consumer.poll(Duration.ofMillis(200))) {
            add(sha, r.key());
            add(sha, r.value());
            got++;
          }
        }
        consumer.commitSync();
      }
      System.out.println("read " + t + " " + got + " " + HexFormat.of().formatHex(sha.digest()));
    }
  }

  static void add(MessageDigest sha, byte[] b) {
    sha.update((b == null ? "-1;" : b.length + ";").getBytes(StandardCharsets.US_ASCII));
    if (b != null) {
      sha.update(b);
    }
  }

  static byte[] key(int i) {
    return i % 5 == 4 ? null : ("k" + i).getBytes(StandardCharsets.US_ASCII);
  }

  static byte[] value(int i) {
    if (i % 11 == 10) {
      return null;
    }
    byte[] b = new byte[i * 37 % 3000];
    for (int j = 0; j < b.length; j++) {
      b[j] = (byte) (i * 31 + j / 3);
    }
    return b;
  }
}
