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

  Context(String path, boolean remote) {
    this.path = path;
    this.remote = remote;
  }
}
