package dfslab.agent.calls;

/**
 * The calling context of calls in another thread or process: a path of steps.
 *
 * <p>Equal paths are one object, so trees are merged by context, and calls allocate no context.
 */
public final class Context {
  /**
   * Steps from the outermost inwards, joined by "/"; a process's first step is preceded by the
   * process's name and ":".
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
