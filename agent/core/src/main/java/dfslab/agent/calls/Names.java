package dfslab.agent.calls;

import dfslab.agent.text.Pattern;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The names that the traced program gives to its own calls, and the steps that record these calls.
 */
public final class Names {
  /**
   * A pattern for the names that the program gives to its own calls, and the step that records the
   * matching calls. If {@code served} is true, the pattern applies only to calls that the program
   * executes on behalf of another process. Otherwise it applies only to all other calls.
   */
  public record Name(boolean served, Pattern pattern, String step, Kind kind) {}

  static final int LIMIT = 4096;
  private static final ConcurrentHashMap<String, Integer> CALLED = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<String, Integer> SERVED = new ConcurrentHashMap<>();
  private static volatile List<Name> names = List.of();

  private Names() {}

  /** Replaces the known patterns. */
  public static void use(List<Name> wanted) {
    names = List.copyOf(wanted);
    CALLED.clear();
    SERVED.clear();
  }

  /** The number of the step for a name, or {@link Recorder#NOTHING} if no pattern matches. */
  static int step(String name, boolean served) {
    ConcurrentHashMap<String, Integer> known = served ? SERVED : CALLED;
    Integer step = known.get(name);
    if (step == null) {
      step = look(name, served);
      if (known.size() < LIMIT) {
        known.put(name, step);
      }
    }
    return step;
  }

  private static int look(String name, boolean served) {
    for (Name wanted : names) {
      String step = wanted.served() == served ? wanted.pattern().fill(name, wanted.step()) : null;
      if (step != null) {
        return Recorder.define(step.replace('/', '_'), wanted.kind()).number();
      }
    }
    return Recorder.NOTHING;
  }
}
