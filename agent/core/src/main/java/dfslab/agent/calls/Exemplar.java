package dfslab.agent.calls;

/**
 * One outermost call that is kept as an example, with the timed calls inside it. If there are too
 * many calls inside it, only the first of these calls are kept, and {@code cut} is true.
 *
 * <p>The description of a call is a text, or an object that the next snapshot converts to a text.
 */
public record Exemplar(
    long tookNs,
    long lot,
    boolean failed,
    boolean cut,
    Context cause,
    long traceHigh,
    long traceLow,
    Span[] spans) {
  /**
   * One call of an exemplar. {@code parent} is the index in {@code spans} of the call that made it;
   * -1 for the outermost call.
   */
  public record Span(
      Step step, int parent, long startNs, long endNs, long bytes, boolean failed, Object about) {
    /** The text of the description; null if there is none. */
    public String aboutText() {
      return Adding.text(about);
    }
  }
}
