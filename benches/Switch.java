import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/**
 * Sends commands from its input to the tracing agents of running JVMs. A command such as "pause 12
 * 34" goes to the JVMs with the process ids 12 and 34. Prints "done" after each command.
 */
public final class Switch {
  /**
   * Attaches to a process when a command names the process for the first time. The program's
   * argument is the path of the agent's jar.
   */
  public static void main(String[] words) throws Exception {
    Map<String, VirtualMachine> joined = new HashMap<>();
    BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      String[] request = line.split(" ");
      for (int at = 1; at < request.length; at++) {
        if (!joined.containsKey(request[at])) {
          joined.put(request[at], VirtualMachine.attach(request[at]));
        }
        joined.get(request[at]).loadAgent(words[0], request[0]);
      }
      System.out.println("done");
    }
  }
}
