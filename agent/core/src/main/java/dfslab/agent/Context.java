package dfslab.agent;

/**
 * What caused a call: a path of steps in another thread or process.
 *
 * <p>Equal paths are one object, so that trees are merged by cause and none is made for each call.
 */
public final class Context {
  /** Steps from the first cause down, joined by "/"; a process's first has its name and ":". */
  public final String path;

  /** Whether it came from another process. */
  public final boolean remote;

  /** Room for what a carrier wants to keep with a context, such as its form on the wire. */
  public volatile Object carried;

  /** What {@link Contexts} knows it by; negative where it is in no table. */
  final int number;

  Context(String path, boolean remote, int number) {
    this.path = path;
    this.remote = remote;
    this.number = number;
  }
}
