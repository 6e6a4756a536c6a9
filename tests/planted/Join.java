import com.sun.tools.attach.VirtualMachine;

/** Makes a running JVM load an agent; arguments: process id, jar, the agent's arguments. */
public final class Join {
  /** Attaches to the JVM and loads the agent once. */
  public static void main(String[] words) throws Exception {
    VirtualMachine machine = VirtualMachine.attach(words[0]);
    machine.loadAgent(words[1], words[2]);
    machine.detach();
  }
}
