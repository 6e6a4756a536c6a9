package dfslab.agent.calls;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The methods that instrumented code calls.
 *
 * <p>Once each path of a thread has occurred, the methods allocate memory only for exemplars.
 */
public final class Recorder {
  static final int STEP_LIMIT = 4096;

  /** The result of starting a call that is not recorded; ending such a call has no effect. */
  public static final int NOTHING = -1;

  private static final List<ThreadTree> TREES = new ArrayList<>();
  private static final ConcurrentHashMap<String, Step> BY_NAME = new ConcurrentHashMap<>();
  private static volatile Step[] steps = {new Step(0, "(beyond limit)", Kind.SERVICE)};
  private static volatile boolean active;
  private static final ThreadLocal<ThreadTree> TREE = ThreadLocal.withInitial(Recorder::newTree);

  private Recorder() {}

  /** This thread's tree, for {@link #enter} and {@link #exit}; null while recording is paused. */
  public static Object tree() {
    return active ? TREE.get() : null;
  }

  /**
   * Starts a call of the step with this number, and returns the value to pass to {@link #exit}.
   * {@code about} describes the call, such as a file; null if nothing describes it.
   */
  public static int enter(Object tree, int step, Object about) {
    return tree == null ? NOTHING : ((ThreadTree) tree).enter(step, about);
  }

  /**
   * Ends the call for which {@link #enter} returned {@code entered}. {@code moved} is the number of
   * bytes that the call moved; negative if the call moves no data.
   */
  public static void exit(Object tree, int entered, long moved, boolean failed) {
    if (entered != NOTHING) {
      ((ThreadTree) tree).exit(entered, moved, failed);
    }
  }

  /**
   * Ends a call of this thread. This method is for callers that did not keep the tree; it does the
   * same as the other {@code exit}.
   */
  public static void exit(int entered, long moved, boolean failed) {
    if (entered != NOTHING) {
      TREE.get().exit(entered, moved, failed);
    }
  }

  /**
   * The number of the step that records calls to which the traced program gives this name; {@link
   * #NOTHING} if no pattern matches the name.
   */
  public static int named(String name, boolean served) {
    return Names.step(name, served);
  }

  /** Starts a call of a step found by {@link #named}. */
  public static int enterNamed(int step) {
    return active && step != NOTHING ? TREE.get().enter(step, null) : NOTHING;
  }

  /**
   * Records the next calls of this thread below a calling context, until the returned value is
   * passed to {@link #exit}.
   */
  public static int resume(Context cause) {
    return active && cause != null ? TREE.get().resume(cause) : NOTHING;
  }

  /**
   * Records a call that other code has timed, as a child of the call that this thread ended last.
   */
  public static void recordAfter(String step, String kind, long tookNs) {
    if (active) {
      TREE.get().recordAfter(step(step, kind), tookNs);
    }
  }

  /** Records a step of the kind DETAIL that other code has timed, unless its time is zero. */
  public static void detailAfter(String step, long tookNs) {
    if (tookNs != 0) {
      recordAfter(step, "detail", tookNs);
    }
  }

  /**
   * The path to this thread's innermost call, as a context for calls in other threads or processes.
   * Null outside all calls, and while recording is paused.
   */
  public static Context context() {
    return active ? TREE.get().context() : null;
  }

  /** The context object for a path that came from another process. */
  public static Context remote(String path) {
    return Contexts.remote(path);
  }

  /** The step with this number. */
  static Step step(int number) {
    return steps[number];
  }

  /** The step with this name. If there is none, it is created with this kind. */
  static Step step(String name, String kind) {
    Step step = BY_NAME.get(name);
    return step != null ? step : define(name, Kind.of(kind));
  }

  /**
   * The step with this name. If there is none, it is created with this kind. When the limit of
   * steps is reached, all further names share one step.
   */
  public static synchronized Step define(String name, Kind kind) {
    Step step = BY_NAME.get(name);
    if (step != null) {
      return step;
    }
    if (steps.length >= STEP_LIMIT) {
      return steps[0];
    }
    step = new Step(steps.length, name, kind);
    Step[] more = Arrays.copyOf(steps, steps.length + 1);
    more[step.number()] = step;
    steps = more;
    BY_NAME.put(name, step);
    return step;
  }

  /** Starts or pauses the recording. */
  public static void activate(boolean on) {
    active = on;
  }

  /** The trees of all threads. The threads may still be recording to the trees. */
  public static List<ThreadTree> trees() {
    synchronized (TREES) {
      return List.copyOf(TREES);
    }
  }

  private static ThreadTree newTree() {
    Thread thread = Thread.currentThread();
    synchronized (TREES) {
      for (ThreadTree tree : TREES) {
        if (tree.orphaned()) {
          tree.adopt(thread);
          return tree;
        }
      }
      ThreadTree tree = new ThreadTree(thread);
      TREES.add(tree);
      return tree;
    }
  }
}
