import java.time.Duration;
import java.util.*;
import java.util.stream.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.FencedInstanceIdException;
import org.apache.kafka.common.serialization.*;

/**
 * Uses the group protocol as Apache Kafka's own consumer does: cooperative rebalancing, static members that come back,
 * fencing, and an administrator who removes members. Argument: bootstrap servers. Prints one line a finding.
 */
public class Groups {
  static String servers;

  /** A consumer in a thread of its own, which knows what it owns and what was taken from it. */
  static class Member extends Thread {
    final String instance;
    final Set<TopicPartition> owned = Collections.synchronizedSet(new HashSet<>());
    volatile int revoked, generation;
    volatile boolean stop;
    volatile Exception failed;

    Member(String instance) {
      this.instance = instance;
      setDaemon(true);
      start();
    }

    @Override
    public void run() {
      Properties p = new Properties();
      p.put("bootstrap.servers", servers);
      p.put("group.id", "java-group");
      p.put("partition.assignment.strategy", CooperativeStickyAssignor.class.getName());
      p.put("session.timeout.ms", 10_000);
      p.put("heartbeat.interval.ms", 100);
      p.put("auto.offset.reset", "earliest");
      if (instance != null) {
        p.put("group.instance.id", instance);
      }
      try (KafkaConsumer<byte[], byte[]> c = new KafkaConsumer<>(p, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
        c.subscribe(List.of("java-groups"), new ConsumerRebalanceListener() {
          public void onPartitionsAssigned(Collection<TopicPartition> parts) {
            owned.addAll(parts);
          }

          public void onPartitionsRevoked(Collection<TopicPartition> parts) {
            owned.removeAll(parts);
            revoked += parts.size();
          }
        });
        while (!stop) {
          c.poll(Duration.ofMillis(50));
          generation = c.groupMetadata().generationId();
        }
      } catch (Exception e) {
        failed = e;
      }
    }

    void end() throws Exception {
      stop = true;
      join();
    }
  }

  interface Check {
    boolean ok() throws Exception;
  }

  static void until(String what, Check c) throws Exception {
    for (long end = System.currentTimeMillis() + 20_000; !c.ok(); Thread.sleep(20)) {
      if (System.currentTimeMillis() > end) {
        throw new Exception("not within 20 s: " + what);
      }
    }
    System.out.println(what);
  }

  static boolean shares(Member... ms) {
    Set<TopicPartition> all = new HashSet<>();
    int n = 0;
    for (Member m : ms) {
      n += m.owned.size();
      all.addAll(m.owned);
      if (m.owned.size() < 6 / ms.length) {
        return false;
      }
    }
    return n == 6 && all.size() == 6;
  }

  public static void main(String[] args) throws Exception {
    servers = args[0];
    Properties base = new Properties();
    base.put("bootstrap.servers", servers);
    Admin admin = Admin.create(base);
    admin.createTopics(List.of(new NewTopic("java-groups", 6, (short) 1))).all().get();
    Member a = new Member("a");
    until("one member owns all", () -> shares(a));
    Member b = new Member("b");
    until("two share", () -> shares(a, b));
    Member d = new Member(null);
    until("three share", () -> shares(a, b, d));
    System.out.println("the first lost only what the others got: " + (a.revoked == 4));

    until("all are of one generation", () -> { // and stay so: what they know of it lags behind
      int g = a.generation;
      Thread.sleep(1000);
      return a.generation == g && b.generation == g && d.generation == g;
    });
    int before = a.generation;
    Set<TopicPartition> had = Set.copyOf(b.owned);
    b.end(); // a static member does not leave
    Member b2 = new Member("b");
    until("the static member has what it had", () -> b2.owned.equals(had));
    until("without a rebalance", () -> a.generation == before && b2.generation == before);

    Member twin = new Member("b");
    until("the one before its twin is fenced", () -> b2.failed instanceof FencedInstanceIdException);
    until("the twin owns its part", () -> twin.owned.equals(had));
    twin.end();

    List<MemberToRemove> gone = List.of(new MemberToRemove("b"));
    admin.removeMembersFromConsumerGroup("java-group", new RemoveMembersFromConsumerGroupOptions(gone)).all().get();
    until("the others share what a removed member had", () -> shares(a, d));
    try {
      admin.removeMembersFromConsumerGroup("java-group", new RemoveMembersFromConsumerGroupOptions(gone)).all().get();
    } catch (Exception e) {
      System.out.println("removing it twice: " + e.getCause().getClass().getSimpleName());
    }
    d.end(); // a dynamic member leaves
    until("one owns all again", () -> shares(a));
    a.end(); // and is still a member
    admin.removeMembersFromConsumerGroup("java-group", new RemoveMembersFromConsumerGroupOptions()).all().get();
    until("the group is empty", () -> admin.describeClassicGroups(List.of("java-group")).all().get().get("java-group").members().isEmpty());
    admin.deleteConsumerGroups(List.of("java-group")).all().get();
    System.out.println("done");
    Runtime.getRuntime().halt(0);
  }
}
