package dfslab.agent.text;

import java.util.concurrent.ConcurrentHashMap;

/**
 * A cache of texts, by the object that they describe, which the traced program would otherwise
 * compute at every call.
 *
 * <p>It is for texts that the program makes for its tracer only; a hit costs a look-up.
 */
public final class Memo {
  static final int LIMIT = 4096;
  private static final ConcurrentHashMap<Object, String> KNOWN = new ConcurrentHashMap<>();

  private Memo() {}

  /** The cached text of an object; null if there is none. */
  public static String text(Object described) {
    return KNOWN.get(described);
  }

  /** Caches the text of an immutable object. */
  public static void put(Object described, String text) {
    if (KNOWN.size() < LIMIT) {
      KNOWN.put(described, text);
    }
  }
}
