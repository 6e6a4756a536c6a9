package dfslab.agent.calls;

import java.lang.invoke.VarHandle;

/**
 * A thread's calls that are not yet in its tree, in the order of their starts.
 *
 * <p>Each call takes four consecutive words of an array and no reference. Recording a call
 * therefore touches one cache line. Updating the call's node in the tree would touch ten cache
 * lines, which are seldom in the processor's cache. Only the owning thread writes; snapshots read
 * concurrently.
 */
final class Calls {
  /**
   * ROOM is the number of calls for which there is space. When an outermost call begins and at
   * least BETWEEN calls are stored, the calls that have ended are first moved to the tree.
   */
  static final int ROOM = 1024;

  static final int BETWEEN = 512;

  /**
   * Largest number of calls of an exemplar. An outermost call and the first calls inside it, up to
   * this number, are kept until the outermost call has ended.
   */
  static final int WHOLE = 256;

  /**
   * The number that stands for no call, such as the caller of a call that is inside no other call.
   */
  static final int NONE = -1;

  private static final int WORDS = 4;
  private static final int START = 0;
  private static final int ABOUT = 1;
  private static final int END = 2;
  private static final int RESULT = 3;

  /** The value that stands for the end time of a call that is open. */
  private static final long OPEN = Long.MIN_VALUE;

  private static final int NUMBER_BITS = 16;
  private static final long NUMBER = (1L << NUMBER_BITS) - 1;
  private static final int CALLER_SHIFT = NUMBER_BITS;
  private static final long CALLER = NUMBER << CALLER_SHIFT;
  private static final long CAUSE = 1L << 32;
  private static final long AFTER = 1L << 33;
  private static final long OUTERMOST = 1L << 34;
  private static final long DESCRIBED = 1L << 35;
  private static final long ADDED = 1L << 36;
  private static final long CUT = 1L << 37;
  private static final int FAILED = 1;
  private static final int FAILED_INSIDE = 2;
  private static final int RESULT_BITS = 2;

  private final long[] words = new long[ROOM * WORDS];
  private final Object[] abouts = new Object[ROOM];
  private final int[] renumbered = new int[ROOM];
  private int count;

  int count() {
    return count;
  }

  /**
   * The number of calls, for a reader in another thread (an acquire read). The reader sees these
   * calls completely, except the ends and results of open calls.
   */
  int visibleCount() {
    int visible = count;
    VarHandle.acquireFence();
    return visible;
  }

  /**
   * Begins a timed call and returns its number. {@code caller} is the number of the call that makes
   * this call, or {@link #NONE}.
   */
  int begin(int step, int caller, boolean outermost, Object about) {
    long how = outermost ? OUTERMOST : 0;
    if (about != null) {
      abouts[count] = about;
      how |= DESCRIBED;
    }
    return append(step, caller, how, OPEN, System.nanoTime());
  }

  /**
   * Begins a calling context and returns its call number. A context is stored in this list like a
   * call. The calls that follow are counted below the context. {@code cause} is the number of the
   * context.
   */
  int resume(int cause, int caller) {
    return append(cause, caller, CAUSE, OPEN, 0);
  }

  /**
   * Records a call that other code has timed, as a child of {@code caller}, a call that has ended.
   */
  void after(int step, int caller, long tookNs) {
    append(step, caller, AFTER, 0, tookNs);
  }

  private int append(int number, int caller, long how, long endNs, long startNs) {
    int call = count;
    int at = call * WORDS;
    words[at + START] = startNs;
    words[at + ABOUT] = how | (caller + 1L) << CALLER_SHIFT | number;
    words[at + END] = endNs;
    VarHandle.releaseFence();
    count = call + 1;
    return call;
  }

  void end(int call, long nowNs, long moved, boolean failed, boolean failedInside) {
    int at = call * WORDS;
    words[at + RESULT] =
        Math.max(0, moved) << RESULT_BITS
            | (failedInside ? FAILED_INSIDE : 0)
            | (failed ? FAILED : 0);
    VarHandle.releaseFence();
    words[at + END] = nowNs;
  }

  /** Whether a call has ended; if so, its result is visible to the calling thread. */
  boolean ended(int call) {
    boolean ended = words[call * WORDS + END] != OPEN;
    VarHandle.acquireFence();
    return ended;
  }

  /** Whether this class timed the call: false for contexts and for calls timed by other code. */
  boolean timed(int call) {
    return (words[call * WORDS + ABOUT] & (CAUSE | AFTER)) == 0;
  }

  boolean isCause(int call) {
    return is(call, CAUSE);
  }

  boolean isAfter(int call) {
    return is(call, AFTER);
  }

  boolean isOutermost(int call) {
    return is(call, OUTERMOST);
  }

  /** Whether the call has ended and is not yet in the tree. */
  boolean fresh(int call) {
    return ended(call) && !is(call, ADDED);
  }

  /**
   * Whether calls inside this outermost call were dropped, because there were more than {@link
   * #WHOLE}.
   */
  boolean cut(int call) {
    return is(call, CUT);
  }

  private boolean is(int call, long what) {
    return (words[call * WORDS + ABOUT] & what) != 0;
  }

  /** The number of the call's step; for a calling context, the number of the context. */
  int number(int call) {
    return (int) (words[call * WORDS + ABOUT] & NUMBER);
  }

  int caller(int call) {
    return (int) ((words[call * WORDS + ABOUT] & CALLER) >>> CALLER_SHIFT) - 1;
  }

  long startNs(int call) {
    return words[call * WORDS + START];
  }

  long endNs(int call) {
    return words[call * WORDS + END];
  }

  /** Duration in ns of a call that has ended or was timed by other code. */
  long tookNs(int call) {
    long startNs = words[call * WORDS + START];
    return isAfter(call) ? startNs : endNs(call) - startNs;
  }

  long moved(int call) {
    return words[call * WORDS + RESULT] >>> RESULT_BITS;
  }

  boolean failed(int call) {
    return (words[call * WORDS + RESULT] & FAILED) != 0;
  }

  /** Whether an outermost call or a call inside it failed. */
  boolean failedInside(int call) {
    return (words[call * WORDS + RESULT] & (FAILED | FAILED_INSIDE)) != 0;
  }

  /** The object that describes the call, such as a file; null if none was recorded. */
  Object about(int call) {
    return is(call, DESCRIBED) ? abouts[call] : null;
  }

  /**
   * The number of the first call that began after the outermost call {@code outermost} had ended.
   * If no call before the number {@code limit} did, returns {@code limit}.
   */
  int behind(int outermost, int limit) {
    int call = outermost + 1;
    while (call < limit && (isAfter(call) || caller(call) >= outermost)) {
      call++;
    }
    return call;
  }

  /**
   * Drops the calls that are in the tree. Two kinds of calls stay: open calls, and the first {@link
   * #WHOLE} calls of an outermost call that is open. The calls that stay get new numbers, also in
   * {@code open}, the list of open calls, and in {@code belowNs}, the times spent below each call.
   */
  void letGo(int[] open, int depth, int outermost, long[] belowNs) {
    int stack = 0;
    int kept = 0;
    for (int call = 0; call < count; call++) {
      boolean isOpen = stack < depth && open[stack] == call;
      if (isOpen) {
        open[stack++] = kept;
      }
      if (stays(call, kept, isOpen, outermost)) {
        belowNs[kept] = isOpen ? belowNs[call] : 0;
        kept++;
      }
    }
    for (int gone = kept; gone < count; gone++) {
      belowNs[gone] = 0;
      abouts[gone] = null;
    }
    count = kept;
  }

  /** The new number of a call after the last {@link #letGo}; {@link #NONE} if it was dropped. */
  int renumbered(int call) {
    return call == NONE ? NONE : renumbered[call];
  }

  /** Whether a call is kept. If so, its data moves to the new call number {@code to}. */
  private boolean stays(int call, int to, boolean isOpen, int outermost) {
    boolean inside = outermost != NONE && call >= outermost;
    if (!isOpen && !(inside && call < outermost + WHOLE)) {
      renumbered[call] = NONE;
      if (inside) {
        words[renumbered[outermost] * WORDS + ABOUT] |= CUT;
      }
      return false;
    }
    renumbered[call] = to;
    move(call, to);
    return true;
  }

  private void move(int call, int to) {
    int caller = caller(call);
    long about = words[call * WORDS + ABOUT] & ~CALLER;
    about |= (caller < 0 ? 0L : renumbered[caller] + 1L) << CALLER_SHIFT;
    Object description = about(call);
    System.arraycopy(words, call * WORDS, words, to * WORDS, WORDS);
    words[to * WORDS + ABOUT] = ended(to) ? about | ADDED : about;
    if (to != call) {
      abouts[to] = description;
    }
  }
}
