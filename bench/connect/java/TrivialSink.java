package bench;

import java.util.*;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.connect.connector.Task;
import org.apache.kafka.connect.sink.*;

/** Takes records and forgets them: the counterpart of checking-sink without a folder. */
public class TrivialSink extends SinkConnector {
  private Map<String, String> config;

  @Override public String version() { return "1"; }
  @Override public void start(Map<String, String> props) { config = props; }
  @Override public void stop() {}
  @Override public Class<? extends Task> taskClass() { return Forget.class; }
  @Override public List<Map<String, String>> taskConfigs(int max) { return Collections.nCopies(max, config); }
  @Override public ConfigDef config() { return new ConfigDef(); }

  public static class Forget extends SinkTask {
    private long seen;

    @Override public String version() { return "1"; }
    @Override public void start(Map<String, String> props) {}
    @Override public void put(Collection<SinkRecord> records) {
      for (SinkRecord r : records) seen += ((String) r.value()).length();
    }
    @Override public void stop() {}
  }
}
