package org.apache.hadoop.tracing;

import dfslab.agent.calls.Context;
import dfslab.agent.calls.Recorder;
import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import org.apache.hadoop.thirdparty.protobuf.ByteString;

/**
 * A reference to a calling context, with the type that Hadoop's tracer uses. There is one object
 * for each context of the agent.
 */
public class SpanContext implements Closeable, Comparable<SpanContext> {
  /** Prefix of the wire format, by which bytes of other tracers are recognised as foreign. */
  private static final String MARK = "dfslab1:";

  /**
   * Cache of received contexts. The index of a context follows from the length and the last bytes
   * of a context's wire format. Most contexts are received many times.
   */
  private static final SpanContext[] KNOWN = new SpanContext[4096];

  private static final int LAST_BYTES = 16;

  final Context cause;
  final Span span = new Span(this, "");
  private final ByteString wire;

  /**
   * The span that was created last under this context. The next span usually has the same name, so
   * this span is reused.
   */
  private Span caused = Span.NONE;

  /** A context outside all calls. */
  public SpanContext() {
    this(null);
  }

  private SpanContext(Context cause) {
    this.cause = cause;
    wire = cause == null ? null : ByteString.copyFromUtf8(MARK + cause.path);
  }

  static SpanContext of(Context cause) {
    if (cause == null) {
      return null;
    }
    if (!(cause.carried instanceof SpanContext)) {
      cause.carried = new SpanContext(cause);
    }
    return (SpanContext) cause.carried;
  }

  /**
   * Returns the span that was created last under this context if it has this name; otherwise
   * creates and returns a new span.
   */
  Span caused(String name) {
    Span last = caused;
    if (!last.name.equals(name)) {
      last = new Span(this, name);
      caused = last;
    }
    return last;
  }

  /** Whether the context came from another process. */
  boolean served() {
    return cause != null && cause.remote;
  }

  ByteString toBytes() {
    return wire;
  }

  static SpanContext fromBytes(ByteString bytes) {
    int place = place(bytes);
    SpanContext known = KNOWN[place];
    if (known == null || !known.wire.equals(bytes)) {
      known = read(bytes);
      KNOWN[place] = known;
    }
    return known;
  }

  private static int place(ByteString bytes) {
    int size = bytes.size();
    int mixed = size;
    for (int at = Math.max(0, size - LAST_BYTES); at < size; at++) {
      mixed = 31 * mixed + bytes.byteAt(at);
    }
    return (mixed ^ mixed >>> 16) & KNOWN.length - 1;
  }

  private static SpanContext read(ByteString bytes) {
    String text = bytes.toString(StandardCharsets.UTF_8);
    boolean ours = text.startsWith(MARK);
    return ours ? of(Recorder.remote(text.substring(MARK.length()))) : null;
  }

  /** Compares the paths of contexts, because Hadoop sorts the contexts of packets. */
  @Override
  public int compareTo(SpanContext other) {
    return path().compareTo(other.path());
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof SpanContext context && cause == context.cause;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(cause);
  }

  private String path() {
    return cause == null ? "" : cause.path;
  }

  @Override
  public void close() {}
}
