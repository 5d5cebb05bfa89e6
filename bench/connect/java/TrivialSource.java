package bench;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.data.Schema;
import org.apache.kafka.connect.source.*;

/** Emits numbers as fast as they are taken, or, with idle=true, nothing: the counterpart of checking-source. */
public class TrivialSource extends SourceConnector {
  private Map<String, String> config;

  @Override public String version() { return "1"; }
  @Override public void start(Map<String, String> props) { config = props; }
  @Override public void stop() {}
  @Override public Class<? extends Task> taskClass() { return Numbers.class; }
  @Override public ConfigDef config() { return new ConfigDef(); }

  @Override public List<Map<String, String>> taskConfigs(int max) {
    List<Map<String, String>> all = new ArrayList<>();
    for (int i = 0; i < max; i++) {
      Map<String, String> one = new HashMap<>(config);
      one.put("mine", Integer.toString(i));
      all.add(one);
    }
    return all;
  }

  public static class Numbers extends SourceTask {
    private String topic, mine, pad;
    private boolean idle;
    private long next;
    private int size;

    @Override public String version() { return "1"; }

    @Override public void start(Map<String, String> props) {
      topic = props.get("topic");
      mine = props.get("mine");
      idle = Boolean.parseBoolean(props.get("idle"));
      size = Integer.parseInt(props.getOrDefault("size", "100"));
      pad = ".".repeat(size);
      Map<String, Object> at = context.offsetStorageReader().offset(Map.of("checked", mine));
      if (at != null) next = (Long) at.get("next");
    }

    @Override public List<SourceRecord> poll() throws InterruptedException {
      if (idle) {
        Thread.sleep(1000);
        return null;
      }
      List<SourceRecord> out = new ArrayList<>(1000);
      Map<String, String> partition = Map.of("checked", mine);
      for (int i = 0; i < 1000; i++) {
        String head = mine + " " + next++ + " ";
        out.add(new SourceRecord(partition, Map.of("next", next), topic, null, null, null, Schema.STRING_SCHEMA, head + pad.substring(head.length())));
      }
      return out;
    }

    @Override public void stop() {}
  }
}
