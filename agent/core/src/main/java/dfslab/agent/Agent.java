package dfslab.agent;

import dfslab.agent.calls.Contexts;
import dfslab.agent.calls.Names;
import dfslab.agent.calls.Recorder;
import dfslab.agent.instrument.CarrierFields;
import dfslab.agent.instrument.Instrumenter;
import dfslab.agent.instrument.Points;
import dfslab.agent.output.Snapshots;
import dfslab.agent.text.Log;
import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The tracing agent, which runs inside a JVM: from the start, with the option {@code
 * -javaagent:agent.jar=points=FILE,out=FOLDER}, or by joining a running JVM.
 *
 * <p>Further keys: service (role of this process), instance (number of the process within the
 * role), interval_s (seconds between snapshots, 10 by default). An agent that joins with the
 * argument "detach" removes all instrumentation. "pause" keeps the instrumentation but records
 * nothing until "resume".
 */
public final class Agent {
  private static Agent running;
  private final Instrumentation instrumentation;
  private final CarrierFields fields;
  private final Instrumenter instrumenter;
  private final Snapshots snapshots;

  private Agent(Instrumentation instrumentation, Map<String, String> options) throws IOException {
    this.instrumentation = instrumentation;
    Points points = Points.read(Path.of(needed(options, "points")));
    Path folder = Path.of(needed(options, "out"));
    Files.createDirectories(folder);
    Contexts.service(options.getOrDefault("service", "process"));
    String instance = options.getOrDefault("instance", Contexts.service());
    double intervalS = Double.parseDouble(options.getOrDefault("interval_s", "10"));
    if (!(intervalS >= 0.01)) {
      throw new IllegalArgumentException("interval_s = " + intervalS + ": must be at least 0.01");
    }
    Names.use(points.names);
    fields = new CarrierFields(points);
    instrumenter = new Instrumenter(points);
    snapshots = new Snapshots(folder, instance, points, instrumenter, intervalS);
  }

  /** Called by the JVM before the host's main method. */
  public static void premain(String arguments, Instrumentation instrumentation) {
    start(arguments, instrumentation);
  }

  /** Called by the JVM when the agent joins a running host. */
  public static void agentmain(String arguments, Instrumentation instrumentation) {
    switch (arguments == null ? "" : arguments) {
      case "detach" -> detach();
      case "pause" -> record(false);
      case "resume" -> record(true);
      default -> start(arguments, instrumentation);
    }
  }

  private static synchronized void start(String arguments, Instrumentation instrumentation) {
    try {
      if (running != null) {
        Log.line("is attached already");
        return;
      }
      Agent agent = new Agent(instrumentation, parse(arguments));
      Recorder.activate(true);
      // Loads the classes that {@code concerns} needs, before the JVM calls the transformers, which
      // must not load classes.
      agent.instrumenter.concerns("");
      // This transformer cannot retransform: a loaded class cannot gain fields.
      instrumentation.addTransformer(agent.fields, false);
      instrumentation.addTransformer(agent.instrumenter, true);
      agent.retransform();
      agent.snapshots.start();
      running = agent;
    } catch (Throwable failure) {
      // After a failure the host continues without tracing.
      Recorder.activate(false);
      Log.line("traces nothing: " + failure.getMessage());
    }
  }

  private static synchronized void record(boolean on) {
    if (running == null) {
      Log.line("is not attached");
    } else {
      Recorder.activate(on);
    }
  }

  private static synchronized void detach() {
    if (running == null) {
      return;
    }
    running.instrumentation.removeTransformer(running.instrumenter);
    running.instrumentation.removeTransformer(running.fields);
    running.retransform();
    Recorder.activate(false);
    running.snapshots.stop();
    running = null;
  }

  /** Instruments the classes that are already loaded, or restores them. */
  private void retransform() {
    List<Class<?>> concerned = new ArrayList<>();
    for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
      if (instrumenter.concerns(loaded.getName()) && instrumentation.isModifiableClass(loaded)) {
        concerned.add(loaded);
      }
    }
    for (Class<?> one : concerned) {
      try {
        instrumentation.retransformClasses(one);
      } catch (Exception | LinkageError failure) {
        Log.line(one.getName() + " is left as it is: " + failure);
      }
    }
  }

  private static Map<String, String> parse(String arguments) {
    Map<String, String> options = new HashMap<>();
    for (String pair : (arguments == null ? "" : arguments).split(",")) {
      int equals = pair.indexOf('=');
      String key = equals < 0 ? pair : pair.substring(0, equals);
      if (!List.of("points", "out", "service", "instance", "interval_s").contains(key)) {
        throw new IllegalArgumentException(
            pair + ": allowed are points, out, service, instance and interval_s, as KEY=VALUE");
      }
      options.put(key, pair.substring(equals + 1));
    }
    return options;
  }

  private static String needed(Map<String, String> options, String key) {
    if (!options.containsKey(key)) {
      throw new IllegalArgumentException(key + "=… is needed");
    }
    return options.get(key);
  }
}
