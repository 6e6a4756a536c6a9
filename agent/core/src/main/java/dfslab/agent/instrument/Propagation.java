package dfslab.agent.instrument;

import dfslab.agent.calls.Carriers;
import dfslab.agent.calls.Context;
import dfslab.agent.calls.Recorder;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import net.bytebuddy.asm.Advice;

/**
 * Advice for context propagation: an operation leaves one thread with an object and continues in
 * another thread.
 */
final class Propagation {
  /** The object that carries the context. */
  @Retention(RetentionPolicy.RUNTIME)
  @interface Carrier {}

  private Propagation() {}

  /** Runs at the end of a method that creates the carrier or passes it to another thread. */
  static final class Capture {
    private Capture() {}

    @Advice.OnMethodExit(suppress = Throwable.class)
    static void exit(@Carrier Object carrier) {
      Carriers.put(carrier);
    }
  }

  /** Runs around a method in which the other thread processes the carrier. */
  static final class Resume {
    private Resume() {}

    @Advice.OnMethodEnter(suppress = Throwable.class)
    static int enter(@Carrier Object carrier) {
      return Carriers.resume(carrier) + 1;
    }

    @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
    static void exit(@Advice.Enter int entered) {
      Recorder.exit(entered - 1, 0, false);
    }
  }

  /** Like {@link Capture}, for a carrier that has a field for the context. */
  static final class CaptureInField {
    private CaptureInField() {}

    @Advice.OnMethodExit(suppress = Throwable.class)
    static void exit(
        @Advice.FieldValue(value = CarrierFields.NAME, readOnly = false) Object cause) {
      cause = Recorder.context();
    }
  }

  /** Like {@link Resume}, for a carrier that has a field for the context. */
  static final class ResumeFromField {
    private ResumeFromField() {}

    @Advice.OnMethodEnter(suppress = Throwable.class)
    static int enter(
        @Advice.FieldValue(value = CarrierFields.NAME, readOnly = false) Object cause) {
      Object taken = cause;
      cause = null;
      return Recorder.resume((Context) taken) + 1;
    }

    @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
    static void exit(@Advice.Enter int entered) {
      Recorder.exit(entered - 1, 0, false);
    }
  }
}
