package dfslab.agent.calls;

import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One thread's calling-context tree, its open calls, and the calls that are not yet in the tree.
 *
 * <p>A new thread adopts the tree of a thread that has ended, if there is one, so there are never
 * more trees than the largest number of simultaneous threads. The results do not change, because a
 * snapshot merges all trees. Sums change only under this object's lock, which the thread takes once
 * for some hundred calls.
 */
public final class ThreadTree {
  static final int DEPTH_LIMIT = 200;
  private static final AtomicInteger NODES = new AtomicInteger();

  private final Node root = new Node(null, null, null);
  private final Calls calls = new Calls();
  private final Adding adding = new Adding(root, NODES, true);
  private final int[] open = new int[DEPTH_LIMIT];

  /** The hash of the path to each open call, by which {@link Contexts} finds contexts. */
  private final long[] paths = new long[DEPTH_LIMIT];

  private volatile WeakReference<Thread> owner;

  private int depth;
  private int outermost = Calls.NONE;
  private boolean failedInside;

  /**
   * The number of the timed call that ended last. NONE if this call has been moved from {@code
   * calls} to the tree; its node is then {@code leftPlace}.
   */
  private int left = Calls.NONE;

  private Node leftPlace = root;
  private long tooDeep;
  private long misplaced;

  /**
   * Time in ns at which exemplars were last dropped. Calls that ended earlier do not become
   * exemplars.
   */
  private long forgottenNs = System.nanoTime();

  ThreadTree(Thread owner) {
    this.owner = new WeakReference<>(owner);
  }

  /**
   * Gives this tree to a new thread, after the thread that used the tree has ended. Calls that the
   * ended thread left open are dropped.
   */
  void adopt(Thread thread) {
    depth = 0;
    outermost = Calls.NONE;
    makeRoom();
    left = Calls.NONE;
    leftPlace = root;
    owner = new WeakReference<>(thread);
  }

  boolean orphaned() {
    Thread thread = owner.get();
    return thread == null || thread.getState() == Thread.State.TERMINATED;
  }

  /** Starts a call of a step. Returns the depth of the call, to be passed to {@link #exit}. */
  int enter(int step, Object about) {
    int at = depth;
    if (at >= DEPTH_LIMIT) {
      depth++;
      tooDeep++;
      return at;
    }
    boolean first = outermost == Calls.NONE;
    if (calls.count() >= (first ? Calls.BETWEEN : Calls.ROOM)) {
      makeRoom();
    }
    int call = calls.begin(step, at == 0 ? Calls.NONE : open[at - 1], first, about);
    open[at] = call;
    paths[at] = Contexts.below(at == 0 ? 0 : paths[at - 1], step);
    depth = at + 1;
    if (first) {
      outermost = call;
      failedInside = false;
    }
    return at;
  }

  /** Ends the call that started at depth {@code at}; open calls inside it are dropped. */
  void exit(int at, long moved, boolean failed) {
    long nowNs = System.nanoTime();
    if (at >= depth) {
      return;
    }
    depth = at;
    if (at >= DEPTH_LIMIT) {
      return;
    }
    int call = open[at];
    failedInside |= failed;
    calls.end(call, nowNs, moved, failed, failedInside);
    if (outermost >= call) {
      outermost = Calls.NONE;
    }
    if (calls.timed(call)) {
      left = call;
    }
  }

  /**
   * Records the next calls of this thread below a calling context, until the returned depth is
   * passed to {@link #exit}.
   */
  int resume(Context cause) {
    int at = depth;
    if (at >= DEPTH_LIMIT) {
      depth++;
      return at;
    }
    if (calls.count() >= Calls.ROOM) {
      makeRoom();
    }
    open[at] = calls.resume(cause.number, at == 0 ? Calls.NONE : open[at - 1]);
    paths[at] = Contexts.below(0, -1 - cause.number);
    depth = at + 1;
    return at;
  }

  /**
   * Records a call that other code has timed, as a child of the call that this thread ended last.
   */
  void recordAfter(Step step, long tookNs) {
    if (calls.count() >= Calls.ROOM) {
      makeRoom();
    }
    if (left == Calls.NONE) {
      addAfter(step, tookNs);
    } else {
      calls.after(step.number(), left, tookNs);
    }
  }

  /**
   * The path to the innermost call, as a context for calls in other threads or processes; null
   * outside all calls.
   */
  Context context() {
    int inside = Math.min(depth, DEPTH_LIMIT);
    if (inside == 0) {
      return null;
    }
    Context known = Contexts.known(paths[inside - 1]);
    if (known == null) {
      known = adding.place(calls, open, inside).asContext();
      Contexts.remember(paths[inside - 1], known);
    }
    return known;
  }

  /** Adds the calls that have ended to the tree, which frees their entries. */
  private synchronized void makeRoom() {
    misplaced += adding.add(calls, calls.count(), forgottenNs);
    if (left != Calls.NONE) {
      leftPlace = adding.place(left);
    }
    calls.letGo(open, Math.min(depth, DEPTH_LIMIT), outermost, adding.belowNs);
    left = calls.renumbered(left);
    outermost = calls.renumbered(outermost);
  }

  private synchronized void addAfter(Step step, long tookNs) {
    adding.child(leftPlace, step).record(tookNs, 0, 0, false);
  }

  /** Drops all exemplars; the sums stay. */
  public synchronized void forgetCalls() {
    forgottenNs = System.nanoTime();
    root.forgetCalls();
  }

  /**
   * Adds the sums of this tree, and the ended calls that are not yet in it, to the tree {@code
   * merged}. The nodes of {@code merged} do not count towards the limit of nodes of the threads'
   * trees. This tree stays unchanged.
   */
  public synchronized void mergeInto(Node merged, Totals totals) {
    merged.merge(root);
    Adding rest = new Adding(merged, new AtomicInteger(NODES.get()), false);
    int count = calls.visibleCount();
    System.arraycopy(adding.belowNs, 0, rest.belowNs, 0, count);
    totals.misplaced += misplaced + rest.add(calls, count, forgottenNs);
    totals.tooDeep += tooDeep;
    totals.openCalls += openCalls();
  }

  /** Counts that belong to no node, each summed over all trees. */
  public static final class Totals {
    public long misplaced;
    public long tooDeep;
    public long openCalls;
  }

  /** Approximate number of timed calls that have started but not ended. */
  private int openCalls() {
    int timed = 0;
    for (int at = Math.min(depth, DEPTH_LIMIT) - 1; at >= 0; at--) {
      timed += calls.timed(open[at]) ? 1 : 0;
    }
    return orphaned() ? 0 : timed;
  }
}
