package dfslab.agent.calls;

import java.lang.invoke.VarHandle;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReferenceArray;

/**
 * The calling contexts of this process. Each call path has at most one context for local calls
 * (caused by another thread) and one for remote calls (caused by another process). There are at
 * most LIMIT local and LIMIT remote contexts. All further paths, and paths longer than PATH_LIMIT
 * characters, share one local and one remote context with the path "(beyond limit)".
 */
public final class Contexts {
  static final int LIMIT = 4096;
  static final int PATH_LIMIT = 1024;
  private static final Context LOCAL_BEYOND = new Context("(beyond limit)", false, 0);
  private static final Context REMOTE_BEYOND = new Context("(beyond limit)", true, 1);
  private static final AtomicReferenceArray<Context> NUMBERED =
      new AtomicReferenceArray<>(2 + 2 * LIMIT);
  private static int made = 2;
  private static final ConcurrentHashMap<String, Context> LOCAL = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<String, Context> REMOTE = new ConcurrentHashMap<>();
  /**
   * Number of slots in the table of contexts. The slot of a context follows from the hash of its
   * path, so a context is found without a search in a tree.
   */
  private static final int SLOTS = 4 * LIMIT;

  private static final int TRIES = 8;
  private static final long[] PATHS = new long[SLOTS];
  private static final Context[] AT_PATHS = new Context[SLOTS];
  private static final long SPREAD = 0x9E3779B97F4A7C15L;
  private static volatile String service = "process";

  static {
    NUMBERED.set(LOCAL_BEYOND.number, LOCAL_BEYOND);
    NUMBERED.set(REMOTE_BEYOND.number, REMOTE_BEYOND);
  }

  private Contexts() {}

  /** The context with this number. */
  static Context numbered(int number) {
    return NUMBERED.get(number);
  }

  /**
   * The hash of a path that is extended by one step. A path without steps has the hash 0, which is
   * the hash of no other path.
   */
  static long below(long path, int step) {
    long mixed = (path ^ step) * SPREAD;
    return mixed ^ mixed >>> 32 | 1;
  }

  /** The context stored for a path hash; null if there is none. */
  static Context known(long path) {
    for (int tried = 0; tried < TRIES; tried++) {
      int slot = slot(path, tried);
      if (PATHS[slot] == path) {
        VarHandle.acquireFence();
        return AT_PATHS[slot];
      }
    }
    return null;
  }

  /**
   * Stores a context in the table, by the hash of its path. Does nothing if all slots that this
   * hash may use are taken.
   */
  static synchronized void remember(long path, Context context) {
    for (int tried = 0; tried < TRIES; tried++) {
      int slot = slot(path, tried);
      if (PATHS[slot] == path) {
        return;
      }
      if (PATHS[slot] == 0) {
        AT_PATHS[slot] = context;
        VarHandle.releaseFence();
        PATHS[slot] = path;
        return;
      }
    }
  }

  private static int slot(long path, int tried) {
    return (int) (path >>> 40) + tried & SLOTS - 1;
  }

  static Context local(String path) {
    return of(LOCAL, path, false);
  }

  static Context remote(String path) {
    return of(REMOTE, path, true);
  }

  /** The name of this process's service. */
  public static String service() {
    return service;
  }

  public static void service(String name) {
    service = name;
  }

  private static Context of(ConcurrentHashMap<String, Context> known, String path, boolean remote) {
    Context context = known.get(path);
    if (context != null) {
      return context;
    }
    if (known.size() >= LIMIT || path.length() > PATH_LIMIT) {
      return remote ? REMOTE_BEYOND : LOCAL_BEYOND;
    }
    return make(known, path, remote);
  }

  private static synchronized Context make(
      ConcurrentHashMap<String, Context> known, String path, boolean remote) {
    Context context = known.get(path);
    if (context != null) {
      return context;
    }
    // Another thread may have used the last free entry in the meantime.
    if (known.size() >= LIMIT) {
      return remote ? REMOTE_BEYOND : LOCAL_BEYOND;
    }
    context = new Context(path, remote, made++);
    NUMBERED.set(context.number, context);
    known.put(path, context);
    return context;
  }
}
