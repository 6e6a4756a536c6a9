package org.apache.hadoop.tracing;

import java.io.Closeable;

/** A call that others may be caused by; its time is kept by the scope that is open for it. */
public class Span implements Closeable {
  static final Span NONE = new Span();

  private final SpanContext context;
  final String name;

  /** A span outside every call. */
  public Span() {
    this(null, "");
  }

  Span(SpanContext context, String name) {
    this.context = context;
    this.name = name;
  }

  /** Annotations are not kept. */
  public Span addKVAnnotation(String key, String value) {
    return this;
  }

  /** Annotations are not kept. */
  public Span addTimelineAnnotation(String text) {
    return this;
  }

  /** Its place as a cause; null outside every call. */
  public SpanContext getContext() {
    return context;
  }

  /** The scope ends the call. */
  public void finish() {}

  @Override
  public void close() {}
}
