package dfslab.agent.calls;

import java.util.Arrays;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Adds calls to a calling-context tree. The nodes of the calls are located first, callers before
 * their child calls. The times are summed afterwards, child calls before their callers.
 */
final class Adding {
  static final int NODE_LIMIT = 50_000;
  static final int ABOUT_LIMIT = 200;
  private static final Context MERGED = new Context("(merged at the node limit)", false, -1);

  /**
   * For each call, the time in ns spent in its child calls, counting only the children that have
   * ended and are in the tree.
   */
  final long[] belowNs = new long[Calls.ROOM];

  private final Node root;
  private final AtomicInteger nodes;
  private final boolean asks;
  private final Node[] places = new Node[Calls.ROOM];
  private long random = ThreadLocalRandom.current().nextLong() | 1;

  /**
   * Adds calls to the tree with this root. {@code nodes} is the number of nodes of all trees
   * together, which is limited.
   *
   * @param asks whether the description of a call is converted to a text at once, by toString().
   *     toString() is the host's code and may need a lock whose holder waits for this tree. So a
   *     snapshot passes false and converts the descriptions later.
   */
  Adding(Node root, AtomicInteger nodes, boolean asks) {
    this.root = root;
    this.nodes = nodes;
    this.asks = asks;
  }

  /**
   * Adds the calls that have ended, and offers the outermost calls among them as exemplars.
   *
   * @param count the number of calls to consider, starting with the first call
   * @param since a time of System.nanoTime(); calls that ended earlier do not become exemplars
   * @return the number of calls that are counted at a node other than their own, because the tree
   *     is full
   */
  long add(Calls calls, int count, long since) {
    // Each loop body is one method call: the JVM compiles a frequent method long before it compiles
    // the method that has the loop.
    long misplaced = 0;
    for (int call = 0; call < count; call++) {
      misplaced += find(calls, call) ? 0 : 1;
    }
    for (int call = count - 1; call >= 0; call--) {
      record(calls, call);
    }
    for (int call = 0; call < count; call++) {
      offer(calls, call, count, since);
    }
    return misplaced;
  }

  /**
   * Locates the node of a call. If the tree is full, returns false; the call is then counted at
   * another node.
   */
  private boolean find(Calls calls, int call) {
    int caller = calls.caller(call);
    Node above = caller < 0 ? root : places[caller];
    Node place = place(calls, call, above);
    places[call] = place;
    return place.parent == above || calls.isCause(call) || !calls.fresh(call);
  }

  /** The node that the last {@link #add} located for a call. */
  Node place(int call) {
    return places[call];
  }

  /**
   * The node of the innermost open call. {@code open} has the {@code depth} open calls, outermost
   * first.
   */
  Node place(Calls calls, int[] open, int depth) {
    Node place = root;
    for (int at = 0; at < depth; at++) {
      place = place(calls, open[at], place);
    }
    return place;
  }

  private Node place(Calls calls, int call, Node above) {
    if (calls.isCause(call)) {
      Context cause = Contexts.numbered(calls.number(call));
      Node found = root.child(cause);
      if (found == null) {
        nodes.incrementAndGet();
        found = root.add(null, cause);
      }
      return found;
    }
    return child(above, Recorder.step(calls.number(call)));
  }

  /**
   * Returns the child of {@code above} for a step, and creates it if needed. If the limit of nodes
   * is reached, returns the node that counts all further calls of the step, whatever their paths.
   */
  Node child(Node above, Step step) {
    Node found = above.child(step);
    if (found != null) {
      return found;
    }
    if (nodes.get() < NODE_LIMIT) {
      nodes.incrementAndGet();
      return above.add(step, null);
    }
    Node beyond = root.child(MERGED);
    if (beyond == null) {
      beyond = root.add(null, MERGED);
    }
    Node node = beyond.child(step);
    return node == null ? beyond.add(step, null) : node;
  }

  private void record(Calls calls, int call) {
    if (!calls.fresh(call)) {
      return;
    }
    long tookNs = belowNs[call];
    if (calls.isAfter(call)) {
      places[call].record(calls.tookNs(call), 0, 0, false);
      return;
    }
    if (calls.timed(call)) {
      tookNs = calls.tookNs(call);
      places[call].record(tookNs, belowNs[call], calls.moved(call), calls.failed(call));
    }
    int caller = calls.caller(call);
    if (caller >= 0) {
      belowNs[caller] += tookNs;
    }
  }

  /** Copies an outermost call that has ended, if the call's node accepts it as an exemplar. */
  private void offer(Calls calls, int outermost, int count, long since) {
    if (!calls.isOutermost(outermost)
        || !calls.ended(outermost)
        || calls.endNs(outermost) - since < 0) {
      return;
    }
    random ^= random << 13;
    random ^= random >>> 7;
    random ^= random << 17;
    long lot = random >>> 1;
    Exemplars kept = places[outermost].exemplars();
    long tookNs = calls.tookNs(outermost);
    if (kept.wants(tookNs, lot, calls.failedInside(outermost))) {
      kept.keep(whole(calls, outermost, calls.behind(outermost, count), tookNs, lot));
    }
  }

  private Exemplar whole(Calls calls, int outermost, int behind, long tookNs, long lot) {
    int[] numbers = new int[behind - outermost];
    Exemplar.Span[] spans = new Exemplar.Span[Math.min(behind - outermost, Calls.WHOLE)];
    int count = 0;
    for (int call = outermost; call < behind && count < spans.length; call++) {
      if (calls.timed(call)) {
        numbers[call - outermost] = count;
        spans[count] = span(calls, call, outermost, numbers);
        count++;
      }
    }
    boolean cut = calls.cut(outermost) || behind - outermost > Calls.WHOLE;
    ThreadLocalRandom ids = ThreadLocalRandom.current();
    return new Exemplar(
        tookNs, lot, calls.failedInside(outermost), cut, places[outermost].parent.asContext(),
        ids.nextLong(), ids.nextLong() | 1, Arrays.copyOf(spans, count));
  }

  private Exemplar.Span span(Calls calls, int call, int outermost, int[] numbers) {
    int caller = call == outermost ? Calls.NONE : calls.caller(call);
    while (caller > outermost && !calls.timed(caller)) {
      caller = calls.caller(caller);
    }
    boolean ended = calls.ended(call);
    Object about = calls.about(call);
    return new Exemplar.Span(
        Recorder.step(calls.number(call)), caller < 0 ? -1 : numbers[caller - outermost],
        calls.startNs(call), ended ? calls.endNs(call) : calls.startNs(call),
        ended ? calls.moved(call) : 0, ended && calls.failed(call), asks ? text(about) : about);
  }

  /**
   * The description of a call as a text; null if there is none. If toString(), which is the host's
   * code, fails, the text is the name of the exception.
   */
  static String text(Object about) {
    if (about == null) {
      return null;
    }
    try {
      String text = about.toString();
      return text.length() <= ABOUT_LIMIT ? text : text.substring(0, ABOUT_LIMIT);
    } catch (Throwable failure) {
      return "(" + failure.getClass().getSimpleName() + ")";
    }
  }
}
