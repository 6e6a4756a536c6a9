package dfslab.agent;

/** The agent's log: at most a limited number of lines on the host's standard error. */
final class Log {
  static final int LIMIT = 1000;
  private static int lines;

  private Log() {}

  static synchronized void line(String text) {
    if (lines < LIMIT) {
      lines++;
      System.err.println("dfslab-agent: " + text.replace('\n', ' '));
    }
  }
}
