package dfslab.agent.output;

import dfslab.agent.calls.Carriers;
import dfslab.agent.calls.Contexts;
import dfslab.agent.calls.Exemplar;
import dfslab.agent.calls.Node;
import dfslab.agent.calls.Recorder;
import dfslab.agent.calls.ThreadTree;
import dfslab.agent.instrument.Instrumenter;
import dfslab.agent.instrument.Points;
import dfslab.agent.text.Json;
import dfslab.agent.text.Log;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * Rewrites the profile of this process and its exemplars at an interval and at the end.
 *
 * <p>{@code agent/README.md} describes the files. Each file is replaced atomically. The sums of a
 * profile cover the time since the process started, so the last snapshot is complete.
 */
public final class Snapshots implements Runnable {
  static final String FORMAT = "dfslab-profile/1";

  /**
   * Suffix of the file by which the measuring program requests that exemplars of a warm-up are
   * dropped.
   */
  private static final String FORGET = ".forget";

  /** Exemplars change little and are long, so only every tenth snapshot writes them. */
  private static final int EXEMPLARS_EVERY = 10;

  private static final int SPAN_LIMIT = 50_000;
  private final Path folder;
  private final String name;
  private final String instance;
  private final Points points;
  private final Instrumenter instrumenter;
  private final long intervalMs;
  private final long startedMs = System.currentTimeMillis();
  private final Processor processor = new Processor();
  private final Thread thread = new Thread(this, "dfslab-agent");
  private final Thread atExit = new Thread(this::writeLast, "dfslab-agent-exit");
  private boolean over;
  private long written;

  /** Snapshots of this process into a folder, every {@code intervalS} seconds. */
  public Snapshots(
      Path folder,
      String instance,
      Points points,
      Instrumenter instrumenter,
      double intervalS) {
    this.folder = folder;
    name = instance + "-" + ProcessHandle.current().pid();
    this.instance = instance;
    this.points = points;
    this.instrumenter = instrumenter;
    intervalMs = Math.round(intervalS * 1000);
  }

  /** Starts the thread that writes the snapshots. */
  public void start() {
    thread.setDaemon(true);
    thread.start();
    Runtime.getRuntime().addShutdownHook(atExit);
  }

  /** Writes the last snapshot, if the agent detaches before its host ends. */
  public void stop() {
    Runtime.getRuntime().removeShutdownHook(atExit);
    writeLast();
    thread.interrupt();
  }

  @Override
  public void run() {
    try {
      while (true) {
        Thread.sleep(intervalMs);
        write(false);
      }
    } catch (InterruptedException stopped) {
      // The thread that interrupted this thread writes the last snapshot.
    }
  }

  private void writeLast() {
    write(true);
  }

  private synchronized void write(boolean last) {
    if (over) {
      return;
    }
    over = last;
    try {
      Path request = folder.resolve(name + FORGET);
      boolean restarts = Files.exists(request);
      if (restarts) {
        Recorder.trees().forEach(ThreadTree::forgetCalls);
      }
      Node merged = new Node(null, null, null);
      ThreadTree.Totals totals = new ThreadTree.Totals();
      Recorder.trees().forEach(tree -> tree.mergeInto(merged, totals));
      List<Exemplar> exemplars = new ArrayList<>();
      merged.collect(exemplars);
      long leftOut = limit(exemplars);
      replace(".profile.json", document(merged, totals, leftOut, last));
      if (last || restarts || ++written % EXEMPLARS_EVERY == 0) {
        replace(".otlp.json", Otlp.document(Contexts.service(), instance, exemplars));
      }
      if (restarts) {
        // The file is removed only after the profile and the exemplars are written: its absence
        // shows the requester that they are complete.
        Files.deleteIfExists(request);
      }
    } catch (IOException | RuntimeException failure) {
      Log.line("no snapshot: " + failure);
    }
  }

  private void replace(String suffix, String document) throws IOException {
    Path file = folder.resolve(name + suffix);
    Path partial = folder.resolve(name + suffix + ".partial");
    Files.write(partial, document.getBytes(StandardCharsets.UTF_8));
    Files.move(partial, file, StandardCopyOption.ATOMIC_MOVE);
  }

  /**
   * Drops the last exemplars, so that the others have at most SPAN_LIMIT calls in total. Returns
   * the number of dropped exemplars.
   */
  private static long limit(List<Exemplar> exemplars) {
    int spans = 0;
    for (int kept = 0; kept < exemplars.size(); kept++) {
      spans += exemplars.get(kept).spans().length;
      if (spans > SPAN_LIMIT) {
        List<Exemplar> rest = exemplars.subList(kept, exemplars.size());
        long leftOut = rest.size();
        rest.clear();
        return leftOut;
      }
    }
    return 0;
  }

  private String document(Node merged, ThreadTree.Totals totals, long leftOut, boolean last) {
    Json json = new Json().open('{');
    json.key("format").text(FORMAT);
    json.key("service").text(Contexts.service());
    json.key("instance").text(instance);
    json.key("pid").number(ProcessHandle.current().pid());
    json.key("started_unix_ns").number(startedMs * 1_000_000);
    json.key("written_unix_ns").number(System.currentTimeMillis() * 1_000_000);
    json.key("last").truth(last);
    json.key("trees").number(Recorder.trees().size());
    json.key("open_calls").number(totals.openCalls);
    processor.look();
    json.key("processor_ns").number(processor.ranNs());
    json.key("starved_ns").number(processor.starvedNs());
    json.key("losses").open('{');
    json.key("too_deep").number(totals.tooDeep);
    json.key("misplaced").number(totals.misplaced);
    json.key("hand_overs").number(Carriers.lost());
    json.key("exemplars_left_out").number(leftOut);
    json.close('}');
    points(json);
    json.key("nodes").open('[');
    Map<Node, Integer> numbers = new IdentityHashMap<>();
    nodes(json, merged, numbers);
    return json.close(']').close('}').toString();
  }

  private void points(Json json) {
    json.key("points").open('[');
    for (Points.JoinPoint point : points.joinPoints) {
      json.open('{').key("point").text(point.toString());
      json.key("step").text(point.step()).key("state").text(instrumenter.state(point)).close('}');
    }
    json.close(']');
  }

  /**
   * Writes a row for each node below {@code above}, parents first. The key "above" is the row
   * number of the node's parent, or -1 if the parent is the root. The row of a context has the
   * context's path under the key "under". The row of a step has the step's sums. Steps without
   * calls are left out.
   */
  private static void nodes(Json json, Node above, Map<Node, Integer> numbers) {
    for (Node node = above.firstChild; node != null; node = node.sibling) {
      if (node.step != null && node.count == 0 && node.firstChild == null) {
        continue;
      }
      int number = numbers.size();
      numbers.put(node, number);
      json.open('{').key("above").number(numbers.getOrDefault(above, -1));
      if (node.step == null) {
        json.key("under").text(node.context.path).key("remote").truth(node.context.remote);
      } else {
        sums(json, node);
      }
      json.close('}');
      nodes(json, node, numbers);
    }
  }

  private static void sums(Json json, Node node) {
    json.key("step").text(node.step.name()).key("kind").text(node.step.kind().word());
    json.key("count").number(node.count).key("errors").number(node.errors);
    json.key("bytes").number(node.bytes);
    json.key("total_ns").number(node.totalNs).key("self_ns").number(node.selfNs);
    json.key("min_ns").number(node.count == 0 ? 0 : node.minNs).key("max_ns").number(node.maxNs);
    json.key("durations").open('[');
    node.durations.visit(
        (low, count) -> json.open('[').number(low).number(count).close(']'));
    json.close(']');
  }
}
