import com.sun.tools.attach.VirtualMachine;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;

/**
 * Sends commands such as "pause 12 34" from its input to the tracing agents of running JVMs, whose
 * process ids follow the command. Prints "done" after each.
 */
public final class Switch {
  /** Attaches to each process at its first command; the argument is the agent's jar. */
  public static void main(String[] words) throws Exception {
    Map<String, VirtualMachine> joined = new HashMap<>();
    BufferedReader told = new BufferedReader(new InputStreamReader(System.in));
    for (String line = told.readLine(); line != null; line = told.readLine()) {
      String[] asked = line.split(" ");
      for (int at = 1; at < asked.length; at++) {
        if (!joined.containsKey(asked[at])) {
          joined.put(asked[at], VirtualMachine.attach(asked[at]));
        }
        joined.get(asked[at]).loadAgent(words[0], asked[0]);
      }
      System.out.println("done");
    }
  }
}
