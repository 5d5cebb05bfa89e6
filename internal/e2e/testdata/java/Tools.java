import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Apache Kafka's command line tools one after the other in one JVM, since each start costs seconds.
 *
 * Argument: a file with one command a line: the class and its arguments, separated by tabs. A line that starts with "<" is the
 * standard input of the next command, "\n" in it a line's end. For each command it prints "### <exit status>" and then what the
 * tool wrote to stdout and stderr. A tool that takes longer than a minute counts as exit status 124.
 */
public class Tools {
  /** The exit status of the tool that runs. */
  static volatile CompletableFuture<Integer> ended;

  /** Ends a tool that asks for the end of the JVM: it says how it ended and never goes on. */
  static void exit(int status, String message) {
    ended.complete(status);
    while (true) {
      try {
        Thread.sleep(Long.MAX_VALUE);
      } catch (InterruptedException e) {
        // sleeps on
      }
    }
  }

  public static void main(String[] args) throws Exception {
    Exit.setExitProcedure(Tools::exit);
    Exit.setHaltProcedure(Tools::exit);
    PrintStream out = System.out;
    PrintStream err = System.err;
    String in = "";
    for (String line : Files.readAllLines(Path.of(args[0]))) {
      if (line.startsWith("<")) {
        in = line.substring(1).replace("\\n", "\n");
        continue;
      }
      String[] words = line.split("\t", -1);
      ByteArrayOutputStream got = new ByteArrayOutputStream();
      PrintStream both = new PrintStream(got, true, StandardCharsets.UTF_8);
      System.setOut(both);
      System.setErr(both);
      System.setIn(new ByteArrayInputStream(in.getBytes(StandardCharsets.UTF_8)));
      in = "";
      CompletableFuture<Integer> status = new CompletableFuture<>();
      ended = status;
      Thread t = new Thread(() -> status.complete(run(words[0], Arrays.copyOfRange(words, 1, words.length))), "tool");
      t.setDaemon(true);
      t.start();
      int how;
      try {
        how = status.get(60, TimeUnit.SECONDS);
      } catch (TimeoutException e) {
        how = 124;
        for (StackTraceElement at : t.getStackTrace()) {
          both.println("\tat " + at);
        }
      }
      System.setOut(out);
      System.setErr(err);
      out.println("### " + how);
      out.print(got.toString(StandardCharsets.UTF_8));
      if (got.size() > 0 && got.toByteArray()[got.size() - 1] != '\n') {
        out.println();
      }
      out.flush();
    }
    Runtime.getRuntime().halt(0); // tools leave threads and shutdown hooks
  }

  static int run(String name, String[] args) {
    try {
      Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
      return 0;
    } catch (InvocationTargetException e) {
      e.getCause().printStackTrace();
    } catch (ReflectiveOperationException e) {
      e.printStackTrace();
    }
    return 1;
  }
}
