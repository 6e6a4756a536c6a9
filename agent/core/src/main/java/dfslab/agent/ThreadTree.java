package dfslab.agent;

import java.lang.invoke.VarHandle;
import java.lang.ref.WeakReference;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * One thread's calling-context tree, and the calls it is in.
 *
 * <p>A thread that begins takes over the tree of one that ended: their calls are merged in any
 * case, and so there are never more trees than there were threads at one time.
 */
final class ThreadTree {
  static final int DEPTH_LIMIT = 200;
  static final int NODE_LIMIT = 50_000;
  private static final AtomicInteger NODES = new AtomicInteger();
  private static final Context MERGED = new Context("(merged at the node limit)", false);

  final Node root = new Node(null, null, null);
  volatile WeakReference<Thread> owner;

  /** Calls below the depth limit: counted, and not timed. */
  long tooDeep;

  /** Calls recorded away from their place because there was no room for more nodes. */
  long merged;

  /** A call that has not ended: what it needs lies together, since a server's caches are cold. */
  private static final class Frame {
    Node node;
    long startNs;
    long belowNs;
    int span;

    /** The timed calls around it, and the innermost one's span. */
    int timedBefore;

    int spanBefore;
  }

  int depth;
  private final Frame[] frames = new Frame[DEPTH_LIMIT];
  private final Spans spans = new Spans();
  private int timed;
  private int lastSpan = -1;
  private Node current = root;
  private Node left = root;

  ThreadTree(Thread owner) {
    this.owner = new WeakReference<>(owner);
  }

  /** Takes over from a thread that ended, perhaps inside calls. */
  void adopt(Thread thread) {
    depth = 0;
    timed = 0;
    lastSpan = -1;
    current = root;
    left = root;
    owner = new WeakReference<>(thread);
  }

  boolean orphaned() {
    Thread thread = owner.get();
    return thread == null || thread.getState() == Thread.State.TERMINATED;
  }

  /** Starts a call; the answer is what its end needs. */
  int enter(Step step, Object about) {
    int at = depth++;
    if (at >= DEPTH_LIMIT) {
      tooDeep++;
      return at;
    }
    Node node = current.child(step);
    if (node == null) {
      node = place(step);
    }
    Frame frame = open(at, node);
    if (timed++ == 0) {
      spans.clear();
    }
    long nowNs = System.nanoTime();
    frame.startNs = nowNs;
    lastSpan = frame.span = spans.begin(step, lastSpan, about, nowNs);
    return at;
  }

  /** Ends the call that started at a depth; calls inside it that never ended are forgotten. */
  void exit(int at, long moved, boolean failed) {
    long nowNs = System.nanoTime();
    if (at >= depth) {
      return;
    }
    depth = at;
    if (at >= DEPTH_LIMIT) {
      return;
    }
    Frame frame = frames[at];
    Node node = frame.node;
    long tookNs = frame.belowNs;
    timed = frame.timedBefore;
    lastSpan = frame.spanBefore;
    if (node.step != null) {
      tookNs = nowNs - frame.startNs;
      node.record(tookNs, frame.belowNs, moved, failed);
      left = node;
      spans.end(frame.span, nowNs, moved, failed);
      if (timed == 0) {
        spans.offer(node, tookNs, node.parent.asContext());
      }
    }
    if (at == 0) {
      current = root;
    } else {
      Frame around = frames[at - 1];
      current = around.node;
      around.belowNs += tookNs;
    }
  }

  /** Puts the calls that follow under their cause, until {@link #exit}. */
  int resume(Context context) {
    int at = depth++;
    if (at >= DEPTH_LIMIT) {
      return at;
    }
    Node node = root.child(context);
    if (node == null) {
      NODES.incrementAndGet();
      node = root.add(null, context);
    }
    open(at, node);
    return at;
  }

  /** Records a call that was timed elsewhere, under the call this thread left last. */
  void recordAfter(Step step, long tookNs) {
    Node node = left.child(step);
    if (node == null) {
      node = NODES.get() < NODE_LIMIT ? made(left, step) : place(step);
    }
    node.record(tookNs, 0, 0, false);
  }

  /** The innermost call's place as a cause of calls elsewhere; null outside all calls. */
  Context context() {
    return current.asContext();
  }

  /** Timed calls that have started and not ended, nearly. */
  int openCalls() {
    int open = 0;
    for (int at = Math.min(depth, DEPTH_LIMIT) - 1; at >= 0; at--) {
      Frame frame = frames[at];
      open += frame != null && frame.node.step != null ? 1 : 0;
    }
    return orphaned() ? 0 : open;
  }

  private Frame open(int at, Node node) {
    Frame frame = frames[at];
    if (frame == null) {
      frame = new Frame();
      frame.node = node;
      // A snapshot that looks for open calls sees it whole.
      VarHandle.releaseFence();
      frames[at] = frame;
    }
    frame.node = node;
    frame.belowNs = 0;
    frame.timedBefore = timed;
    frame.spanBefore = lastSpan;
    current = node;
    return frame;
  }

  private Node place(Step step) {
    if (NODES.get() < NODE_LIMIT) {
      return made(current, step);
    }
    merged++;
    Node beyond = root.child(MERGED);
    if (beyond == null) {
      beyond = root.add(null, MERGED);
    }
    Node node = beyond.child(step);
    return node == null ? beyond.add(step, null) : node;
  }

  private static Node made(Node parent, Step step) {
    NODES.incrementAndGet();
    return parent.add(step, null);
  }
}
