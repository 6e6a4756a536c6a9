package dfslab.agent;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/** What woven code calls. It allocates nothing once every path of a thread was seen. */
public final class Recorder {
  static final int STEP_LIMIT = 4096;

  /** The answer of a call that was not recorded; ending it does nothing. */
  public static final int NOTHING = -1;

  private static final List<ThreadTree> TREES = new ArrayList<>();
  private static final ConcurrentHashMap<String, Step> BY_NAME = new ConcurrentHashMap<>();
  private static volatile Step[] steps = {new Step(0, "(beyond limit)", Kind.SERVICE)};
  private static volatile boolean active;
  private static final ThreadLocal<ThreadTree> TREE = ThreadLocal.withInitial(Recorder::newTree);

  private Recorder() {}

  /** This thread's tree, for {@link #enter} and {@link #exit}; null while nothing is recorded. */
  public static Object tree() {
    return active ? TREE.get() : null;
  }

  /** Starts a call of the step with this number, and with what is worth telling about it. */
  public static int enter(Object tree, int step, Object about) {
    return tree == null ? NOTHING : ((ThreadTree) tree).enter(step, about);
  }

  /** Ends a call that moved so many bytes; negative is none. */
  public static void exit(Object tree, int entered, long moved, boolean failed) {
    if (entered != NOTHING) {
      ((ThreadTree) tree).exit(entered, moved, failed);
    }
  }

  /** The same of a call whose tree was not kept: this thread's own. */
  public static void exit(int entered, long moved, boolean failed) {
    if (entered != NOTHING) {
      TREE.get().exit(entered, moved, failed);
    }
  }

  /** The step of calls that the traced program names itself; {@link #NOTHING} if none asks. */
  public static int named(String name, boolean served) {
    return Names.step(name, served);
  }

  /** Starts a call of such a step. */
  public static int enterNamed(int step) {
    return active && step != NOTHING ? TREE.get().enter(step, null) : NOTHING;
  }

  /** Puts this thread's calls under their cause; the answer goes to {@link #exit}. */
  public static int resume(Context cause) {
    return active && cause != null ? TREE.get().resume(cause) : NOTHING;
  }

  /** Records a call timed by somebody else, under the call that this thread ended last. */
  public static void recordAfter(String step, String kind, long tookNs) {
    if (active) {
      TREE.get().recordAfter(step(step, kind), tookNs);
    }
  }

  /** The same of a detail, where there was any of it. */
  public static void detailAfter(String step, long tookNs) {
    if (tookNs != 0) {
      recordAfter(step, "detail", tookNs);
    }
  }

  /** Where this thread is, as a cause of calls elsewhere; null outside all calls. */
  public static Context context() {
    return active ? TREE.get().context() : null;
  }

  /** A cause that came from another process. */
  public static Context remote(String path) {
    return Contexts.remote(path);
  }

  /** The step of that number. */
  static Step step(int number) {
    return steps[number];
  }

  /** The step of that name and kind. */
  static Step step(String name, String kind) {
    Step step = BY_NAME.get(name);
    return step != null ? step : define(name, Kind.of(kind));
  }

  /** The step of that name, made if need be; names beyond the limit are one step. */
  static synchronized Step define(String name, Kind kind) {
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

  static void activate(boolean on) {
    active = on;
  }

  /** Every tree there is; their threads may be writing them. */
  static List<ThreadTree> trees() {
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
