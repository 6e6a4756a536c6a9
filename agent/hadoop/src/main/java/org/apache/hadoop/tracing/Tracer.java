package org.apache.hadoop.tracing;

import dfslab.agent.calls.Recorder;

/** Hadoop's tracer: opens scopes for the calls that Hadoop itself names. */
public class Tracer {
  /** Name of a setting of Hadoop's own tracer; the agent does not read the setting. */
  public static final String SPAN_RECEIVER_CLASSES_KEY = "span.receiver.classes";

  private static final Tracer ONLY = new Tracer("dfslab");
  private final String name;

  /** A tracer; all tracers behave alike. */
  public Tracer(String name) {
    this.name = name;
  }

  /**
   * Returns the only tracer. The result is never null, so Hadoop's servers and clients always
   * request scopes.
   */
  public static Tracer curThreadTracer() {
    return ONLY;
  }

  /** The innermost call of this thread; null outside every call. */
  public static Span getCurrentSpan() {
    SpanContext context = SpanContext.of(Recorder.context());
    return context == null ? null : context.span;
  }

  /** Opens a call inside this thread's current call. */
  public TraceScope newScope(String description) {
    return new TraceScope(null, Recorder.named(description, false));
  }

  /** A call that a call with the context `from` caused; {@link #activateSpan} opens it. */
  public Span newSpan(String description, SpanContext from) {
    return from == null ? new Span(null, description) : from.caused(description);
  }

  /** Opens a call that a call in another thread or process caused, whose context is `from`. */
  public TraceScope newScope(String description, SpanContext from) {
    return activateSpan(newSpan(description, from));
  }

  /** Opens a call that a call in another thread or process caused, whose context is `from`. */
  public TraceScope newScope(String description, SpanContext from, boolean finishOnClose) {
    return activateSpan(newSpan(description, from));
  }

  /** Opens a call that {@link #newSpan} has created. */
  public TraceScope activateSpan(Span span) {
    return span == null ? null : new TraceScope(span.getContext(), span.step);
  }

  /** Does nothing: a tracer holds no resources. */
  public void close() {}

  /** The tracer's name. */
  public String getName() {
    return name;
  }

  /** Builds tracers, as Hadoop requires. */
  public static class Builder {
    private final String name;

    /** A builder of a tracer with this name. */
    public Builder(String name) {
      this.name = name;
    }

    /** Returns this builder: the agent does not read Hadoop's configuration. */
    public Builder conf(TraceConfiguration configuration) {
      return this;
    }

    /** A new tracer. */
    public Tracer build() {
      return new Tracer(name);
    }
  }
}
