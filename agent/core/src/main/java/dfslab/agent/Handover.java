package dfslab.agent;

import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import net.bytebuddy.asm.Advice;

/** The code woven where an operation leaves one thread, by an object, and goes on in another. */
final class Handover {
  /** The object that carries the operation over. */
  @Retention(RetentionPolicy.RUNTIME)
  @interface Carrier {}

  private Handover() {}

  /** Where the carrier is made or handed over. */
  static final class Capture {
    private Capture() {}

    @Advice.OnMethodExit(suppress = Throwable.class)
    static void exit(@Carrier Object carrier) {
      Carriers.put(carrier);
    }
  }

  /** Where the other thread works for it. */
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

  /** The first of them, where the carrier has a field for the cause. */
  static final class CaptureInField {
    private CaptureInField() {}

    @Advice.OnMethodExit(suppress = Throwable.class)
    static void exit(
        @Advice.FieldValue(value = CarrierFields.NAME, readOnly = false) Object cause) {
      cause = Recorder.context();
    }
  }

  /** The second. */
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
