package org.apache.hadoop.tracing;

import dfslab.agent.Context;
import dfslab.agent.Recorder;
import java.io.Closeable;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.hadoop.thirdparty.protobuf.ByteString;

/** A cause, in Hadoop's terms; there is one for each cause of the agent's. */
public class SpanContext implements Closeable, Comparable<SpanContext> {
  /** The form on the wire begins with it, so that nobody else's bytes are taken for a path. */
  private static final String MARK = "dfslab1:";

  /** Causes come again and again: so many of those that came are known by their bytes. */
  private static final int KNOWN_LIMIT = 4096;

  private static final ConcurrentHashMap<ByteString, SpanContext> KNOWN = new ConcurrentHashMap<>();

  final Context cause;
  final Span span = new Span(this, "");
  private final ByteString wire;

  /** A context of nothing. */
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

  /** Whether it came from another process. */
  boolean served() {
    return cause != null && cause.remote;
  }

  ByteString toBytes() {
    return wire;
  }

  static SpanContext fromBytes(ByteString bytes) {
    SpanContext known = KNOWN.get(bytes);
    if (known != null) {
      return known;
    }
    SpanContext read = read(bytes);
    if (read != null && KNOWN.size() < KNOWN_LIMIT) {
      // A copy: what came may be a piece of something larger.
      KNOWN.put(ByteString.copyFrom(bytes.toByteArray()), read);
    }
    return read;
  }

  private static SpanContext read(ByteString bytes) {
    String text = bytes.toString(StandardCharsets.UTF_8);
    boolean ours = text.startsWith(MARK);
    return ours ? of(Recorder.remote(text.substring(MARK.length()))) : null;
  }

  /** Packets sort the causes they have. */
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
