package dfslab.agent.calls;

/**
 * The calling context of calls: the path of steps, in another thread or process, that caused them.
 *
 * <p>There is one object for each path from this process, and one for each path from other
 * processes. So trees are merged by comparing references, and calls allocate no context.
 */
public final class Context {
  /**
   * The steps of the path, the outermost first, joined by "/". Where the path enters a process, its
   * name and ":" precede the step.
   */
  public final String path;

  /** Whether the context came from another process. */
  public final boolean remote;

  /** A slot for a cached representation of the context, such as its wire format. */
  public volatile Object carried;

  /** Index in the table of {@link Contexts}; negative if the context is in no table. */
  final int number;

  Context(String path, boolean remote, int number) {
    this.path = path;
    this.remote = remote;
    this.number = number;
  }
}
