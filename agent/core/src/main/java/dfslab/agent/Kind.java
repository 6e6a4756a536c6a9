package dfslab.agent;

import java.util.Locale;

/** What the time of a step is: work, or which wait. */
enum Kind {
  /** The step works. */
  SERVICE,
  /** It waits in a queue. */
  QUEUE,
  /** It waits for a lock. */
  LOCK,
  /** It waits for another process, thread or device. */
  BLOCKED,
  /** A figure beside the tree, which overlaps other steps and belongs in no sum. */
  DETAIL;

  static Kind of(String word) {
    return valueOf(word.toUpperCase(Locale.ROOT));
  }

  String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
