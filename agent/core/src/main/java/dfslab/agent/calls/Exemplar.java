package dfslab.agent.calls;

/**
 * One sampled outermost call with all timed calls inside it.
 *
 * <p>The description of a call is a text, or an object whose text the next snapshot computes.
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
  /** One call of an exemplar; parent is the index of its parent among the spans, or -1. */
  public record Span(
      Step step, int parent, long startNs, long endNs, long bytes, boolean failed, Object about) {
    /** The text of the description; null if there is none. */
    public String aboutText() {
      return Adding.text(about);
    }
  }
}
