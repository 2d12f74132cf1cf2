import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The SDK's client through the scenarios of tests/interop: Client URL TOKEN NAME SCENARIO...
 *
 * <p>NAME is the client's name. Prints for each scenario one line of JSON: its name, whether it works, and
 * if not why, with the last error, else the last frame, that came from the runtime.
 */
final class Client {
  private static final long DEADLINE_SEC = 8;
  private static final Set<String> SECRETS = Set.of("token", "resume_token", "value");

  private Client() {}

  public static void main(String[] words) throws Exception {
    for (String name : List.of(words).subList(3, words.length)) {
      System.out.println(play(words[0], words[1], words[2], name));
    }
    System.exit(0); // whatever still waits
  }

  private static JsonNode play(String url, String token, String called, String name) throws Exception {
    Path folder = Files.createTempDirectory("arcp-interop-");
    Fixture fixture = new Fixture(url, token, called, folder);
    String why = outcome(() -> {
      Scenarios.play(name, fixture);
      return null;
    }, Scenarios.PATIENCE_SEC.getOrDefault(name, DEADLINE_SEC));
    ObjectNode row = Fixture.JSON.createObjectNode().put("scenario", name).put("works", why == null);
    if (why != null) {
      row.put("why", why).set("frame", withoutSecrets(shown(fixture.received(null))));
    }
    fixture.openGate(); // no agent waits any longer
    outcome(() -> {
      fixture.leave();
      return null;
    }, DEADLINE_SEC);
    Files.deleteIfExists(fixture.gate());
    Files.deleteIfExists(folder);
    return row;
  }

  /** Why it does not work, whatever the SDK throws; null when it does. */
  private static String outcome(Callable<Void> work, long seconds) throws InterruptedException {
    var one = Executors.newVirtualThreadPerTaskExecutor();
    try {
      one.submit(work).get(seconds, TimeUnit.SECONDS);
      return null;
    } catch (TimeoutException late) {
      return "nothing more came in " + seconds + " s";
    } catch (ExecutionException thrown) {
      Throwable cause = Fixture.cause(thrown);
      return cause instanceof Fixture.Gap ? cause.getMessage() : cause.toString().lines().findFirst().orElse("");
    } finally {
      one.shutdownNow();
    }
  }

  private static JsonNode shown(List<JsonNode> frames) {
    List<JsonNode> told = frames.stream().filter(frame -> !frame.path("type").asText().equals("session.ping")).toList();
    List<JsonNode> errors = told.stream().filter(frame -> frame.path("type").asText().endsWith(".error")).toList();
    List<JsonNode> best = errors.isEmpty() ? told : errors;
    return best.isEmpty() ? null : best.getLast();
  }

  /** The frame with tokens and the values of credentials masked. */
  private static JsonNode withoutSecrets(JsonNode frame) {
    if (frame instanceof ObjectNode object) {
      for (String name : SECRETS) {
        if (object.path(name).isTextual()) {
          object.put(name, "...");
        }
      }
    }
    if (frame != null) {
      frame.forEach(Client::withoutSecrets);
    }
    return frame;
  }
}
