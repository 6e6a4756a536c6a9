package dfslab.agent;

import java.util.concurrent.ConcurrentHashMap;

/** Every context of this process, each path once, and no more of them than a limit. */
final class Contexts {
  static final int LIMIT = 4096;
  static final int PATH_LIMIT = 1024;
  private static final Context LOCAL_BEYOND = new Context("(beyond limit)", false);
  private static final Context REMOTE_BEYOND = new Context("(beyond limit)", true);
  private static final ConcurrentHashMap<String, Context> LOCAL = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<String, Context> REMOTE = new ConcurrentHashMap<>();
  private static volatile String service = "process";

  private Contexts() {}

  static Context local(String path) {
    return of(LOCAL, path, false);
  }

  static Context remote(String path) {
    return of(REMOTE, path, true);
  }

  static String service() {
    return service;
  }

  static void service(String name) {
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
    return known.computeIfAbsent(path, absent -> new Context(absent, remote));
  }
}
