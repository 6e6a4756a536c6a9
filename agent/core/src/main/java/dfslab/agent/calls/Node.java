package dfslab.agent.calls;

import java.lang.invoke.VarHandle;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;

/**
 * A node of a calling-context tree: a step with sums over its calls, or a calling context.
 *
 * <p>Only the thread that owns the tree adds children, perhaps while a snapshot reads the tree.
 * Sums change only under the tree's lock. The classes of other packages read the fields of merged
 * trees only; no thread records calls in merged trees.
 */
public final class Node {
  public final Step step;
  final Node parent;
  /** The calling context of the calls below this node; null if the node is a step or a root. */
  public final Context context;

  public Node firstChild;
  public Node sibling;
  public long count;
  public long errors;
  public long bytes;
  public long totalNs;
  public long selfNs;
  public long minNs = Long.MAX_VALUE;
  public long maxNs;
  public final Histogram durations;

  private Exemplars exemplars;
  private Node recent;

  /**
   * The children that are contexts. These children are in a hash table, since the tree of a
   * server's thread has thousands of them.
   */
  private Map<Context, Node> causes;

  private Context own;

  /** Creates a node without calls. All arguments are null for the root of a tree. */
  public Node(Step step, Node parent, Context context) {
    this.step = step;
    this.parent = parent;
    this.context = context;
    durations = step == null ? null : new Histogram();
  }

  /** The child for a step; null if there is none. */
  Node child(Step wanted) {
    Node found = recent;
    if (found != null && found.step == wanted) {
      return found;
    }
    for (Node child = firstChild; child != null; child = child.sibling) {
      if (child.step == wanted) {
        recent = child;
        return child;
      }
    }
    return null;
  }

  /** The child for a context; null if there is none. */
  Node child(Context wanted) {
    return causes == null ? null : causes.get(wanted);
  }

  /**
   * Adds a child. All fields of the child are set before the child is linked to the tree, because a
   * snapshot may read the tree at the same time.
   */
  Node add(Step childStep, Context childContext) {
    Node child = new Node(childStep, this, childContext);
    if (childContext != null) {
      if (causes == null) {
        causes = new IdentityHashMap<>();
      }
      causes.put(childContext, child);
    }
    child.sibling = firstChild;
    VarHandle.releaseFence();
    firstChild = child;
    return child;
  }

  void record(long tookNs, long belowNs, long moved, boolean failed) {
    count++;
    totalNs += tookNs;
    selfNs += tookNs - belowNs;
    if (moved > 0) {
      bytes += moved;
    }
    if (failed) {
      errors++;
    }
    if (tookNs < minNs) {
      minNs = tookNs;
    }
    if (tookNs > maxNs) {
      maxNs = tookNs;
    }
    durations.record(Math.max(0, tookNs));
  }

  /** The exemplars among the calls of this node, which must be outermost calls of a thread. */
  Exemplars exemplars() {
    if (exemplars == null) {
      exemplars = new Exemplars();
    }
    return exemplars;
  }

  /** Appends all exemplars of this subtree to a list. */
  public void collect(List<Exemplar> found) {
    if (exemplars != null) {
      found.addAll(exemplars.all());
    }
    for (Node child = firstChild; child != null; child = child.sibling) {
      child.collect(found);
    }
  }

  /** Drops all exemplars of this subtree; the sums stay. */
  void forgetCalls() {
    exemplars = null;
    for (Node child = firstChild; child != null; child = child.sibling) {
      child.forgetCalls();
    }
  }

  /** Adds the sums of another tree to this tree, node by node. */
  void merge(Node other) {
    if (step != null) {
      count += other.count;
      errors += other.errors;
      bytes += other.bytes;
      totalNs += other.totalNs;
      selfNs += other.selfNs;
      minNs = Math.min(minNs, other.minNs);
      maxNs = Math.max(maxNs, other.maxNs);
      durations.add(other.durations);
      if (other.exemplars != null) {
        exemplars().merge(other.exemplars);
      }
    }
    for (Node theirs = other.firstChild; theirs != null; theirs = theirs.sibling) {
      Node mine = theirs.step == null ? child(theirs.context) : child(theirs.step);
      (mine == null ? add(theirs.step, theirs.context) : mine).merge(theirs);
    }
  }

  /** The path to this node as a context for calls in other threads; null at the root. */
  Context asContext() {
    if (step == null) {
      return context;
    }
    if (own == null) {
      own = Contexts.local(path());
    }
    return own;
  }

  private String path() {
    Context above = parent.asContext();
    if (above == null) {
      return Contexts.service() + ":" + step.name();
    }
    boolean first = parent.step == null && above.remote;
    return above.path + "/" + (first ? Contexts.service() + ":" : "") + step.name();
  }
}
