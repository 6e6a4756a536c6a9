package dfslab.hadoop;

import dfslab.agent.Memo;
import java.lang.reflect.Method;
import net.bytebuddy.asm.Advice;

/**
 * Keeps the names that a client's calls have for a tracer, which Hadoop makes anew for each call.
 *
 * <p>Woven into {@code RpcClientUtil.methodToTraceString}, whose look at the classes around a
 * method costs more than all else that a call's tracing takes in the client.
 */
final class CallNames {
  private CallNames() {}

  @Advice.OnMethodEnter(suppress = Throwable.class, skipOn = Advice.OnNonDefaultValue.class)
  static String enter(@Advice.Argument(0) Method method) {
    return Memo.text(method);
  }

  @Advice.OnMethodExit(suppress = Throwable.class)
  static void exit(
      @Advice.Argument(0) Method method,
      @Advice.Enter String known,
      @Advice.Return(readOnly = false) String name) {
    if (known == null) {
      Memo.put(method, name);
    } else {
      name = known;
    }
  }
}
