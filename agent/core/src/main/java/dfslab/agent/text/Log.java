package dfslab.agent.text;

/** The agent's log: at most a limited number of lines on the host's standard error. */
public final class Log {
  static final int LIMIT = 1000;
  private static int lines;

  private Log() {}

  /** Writes one line, unless the limit of lines is reached. */
  public static synchronized void line(String text) {
    if (lines < LIMIT) {
      lines++;
      System.err.println("dfslab-agent: " + text.replace('\n', ' '));
    }
  }
}
