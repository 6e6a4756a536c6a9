package dfslab.agent.instrument;

import dfslab.agent.calls.Recorder;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import net.bytebuddy.asm.Advice;

/** Advice around a timed method; exceptions of the advice itself are suppressed. */
final class Timing {
  /** The number of the point's step. */
  @Retention(RetentionPolicy.RUNTIME)
  @interface StepNumber {}

  /**
   * The number of bytes that a call moved. The point specifies where the number is found: in the
   * call's result, an argument or a field. 0 if the point specifies none of them.
   */
  @Retention(RetentionPolicy.RUNTIME)
  @interface Moved {}

  /** The object that describes a call, such as a file name; null if the point names none. */
  @Retention(RetentionPolicy.RUNTIME)
  @interface About {}

  private Timing() {}

  @Advice.OnMethodEnter(suppress = Throwable.class)
  static int enter(
      @StepNumber int step, @About Object about, @Advice.Local("tree") Object tree) {
    tree = Recorder.tree();
    return Recorder.enter(tree, step, about) + 1;
  }

  @Advice.OnMethodExit(suppress = Throwable.class, onThrowable = Throwable.class)
  static void exit(
      @Advice.Enter int entered,
      @Moved long moved,
      @Advice.Thrown Throwable thrown,
      @Advice.Local("tree") Object tree) {
    Recorder.exit(tree, entered - 1, moved, thrown != null);
  }
}
