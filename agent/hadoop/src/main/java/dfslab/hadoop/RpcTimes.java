package dfslab.hadoop;

import dfslab.agent.calls.Recorder;
import java.util.concurrent.TimeUnit;
import net.bytebuddy.asm.Advice;
import org.apache.hadoop.ipc.ProcessingDetails;
import org.apache.hadoop.ipc.Server;

/**
 * Records the times that Hadoop has measured for a served call, when Hadoop updates its metrics.
 *
 * <p>This advice is applied to {@code Server.updateMetrics}, which a handler calls directly after
 * the call. The queue time is the only time that passes outside the served call. The other times
 * overlap the call's steps, so they are recorded as details, which are not added to any sum.
 */
final class RpcTimes {
  private RpcTimes() {}

  @Advice.OnMethodExit(suppress = Throwable.class)
  static void exit(@Advice.Argument(0) Server.Call call) {
    ProcessingDetails times = call.getProcessingDetails();
    TimeUnit unit = TimeUnit.NANOSECONDS;
    Recorder.recordAfter("rpc_queue", "queue", times.get(ProcessingDetails.Timing.QUEUE, unit));
    Recorder.detailAfter("rpc_processing", times.get(ProcessingDetails.Timing.PROCESSING, unit));
    Recorder.detailAfter("rpc_lock_wait", times.get(ProcessingDetails.Timing.LOCKWAIT, unit));
    Recorder.detailAfter("rpc_lock_shared", times.get(ProcessingDetails.Timing.LOCKSHARED, unit));
    Recorder.detailAfter(
        "rpc_lock_exclusive", times.get(ProcessingDetails.Timing.LOCKEXCLUSIVE, unit));
  }
}
