package dfslab.agent.text;

import java.util.concurrent.ConcurrentHashMap;

/**
 * A cache from objects to the texts that describe them. Without the cache, the traced program would
 * compute the text at every call.
 *
 * <p>Only texts that the traced program computes solely for its own tracer are cached. Getting a
 * text from the cache costs one look-up.
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
