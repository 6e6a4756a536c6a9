package dfslab.agent;

import java.util.concurrent.ConcurrentHashMap;

/**
 * What the traced program works out anew at every call, and need not: texts by what they describe.
 *
 * <p>It is for texts that a program makes for its tracer alone, so that asking for them again costs
 * a look-up.
 */
public final class Memo {
  static final int LIMIT = 4096;
  private static final ConcurrentHashMap<Object, String> KNOWN = new ConcurrentHashMap<>();

  private Memo() {}

  /** The text of an object that was put here; null if it has none. */
  public static String text(Object described) {
    return KNOWN.get(described);
  }

  /** Keeps the text of an object that never changes. */
  public static void put(Object described, String text) {
    if (KNOWN.size() < LIMIT) {
      KNOWN.put(described, text);
    }
  }
}
