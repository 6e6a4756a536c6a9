package dfslab.hadoop;

import dfslab.agent.text.Memo;
import java.lang.reflect.Method;
import net.bytebuddy.asm.Advice;

/**
 * Caches the names of a client's calls for the tracer. Without the cache, Hadoop computes the name
 * at each call.
 *
 * <p>This advice is applied to {@code RpcClientUtil.methodToTraceString}, whose reflection on
 * enclosing classes costs more than all other tracing of a call in the client.
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
