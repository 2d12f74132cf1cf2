import com.fasterxml.jackson.databind.JsonNode;
import dev.arcp.client.ArcpClient;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.LongStream;

/**
 * Submits over a connection that is cut again and again. Requests that a cut leaves unanswered are sent again with their
 * idempotency key; at the end each key has one job, each job its own result, and each event was received once and in order.
 */
final class Disturbance {
  private static final int JOBS = 12;
  private static final int STEPS = 60; // of each job

  private final Fixture fixture;
  private final Map<String, String> keys = IntStream.range(0, JOBS).boxed()
      .collect(Collectors.toMap(n -> "n" + n, n -> UUID.randomUUID().toString()));
  private final Map<String, String> jobs = new ConcurrentHashMap<>(); // of each name that was answered

  Disturbance(Fixture fixture) {
    this.fixture = fixture;
  }

  private boolean isDone() {
    Set<String> ended = fixture.received("job.result").stream().map(frame -> frame.get("job_id").asText())
        .collect(Collectors.toSet());
    return keys.keySet().stream().allMatch(name -> jobs.containsKey(name) && ended.contains(jobs.get(name)));
  }

  void play() throws Exception {
    Fixture.Peer peer = fixture.connect();
    while (!isDone()) {
      askAgain(peer.client);
      Fixture.Recorder line = peer.line;
      fixture.until(() -> line.hasEnded || isDone());
      if (!isDone()) {
        peer = resumeSession(peer);
      }
    }
    check();
  }

  private void askAgain(ArcpClient client) {
    keys.forEach((name, key) -> {
      if (jobs.containsKey(name)) {
        return;
      }
      JsonNode input = Fixture.object("name", name).put("steps", STEPS);
      try {
        client.submitAsync(ArcpClient.jobSubmit("steps", input, null, null, key, null))
            .thenAccept(job -> jobs.put(name, job.jobId().value()));
      } catch (RuntimeException cut) {
        return; // asked again after the resume
      }
    });
  }

  /** Resumes the session until that works: handshakes are cut, too. */
  private Fixture.Peer resumeSession(Fixture.Peer peer) throws Exception {
    for (;;) {
      long last = fixture.numbers(null).stream().mapToLong(Long::longValue).max().orElse(0);
      try {
        return fixture.resume(peer.state(last));
      } catch (Exception thrown) {
        Fixture.expect(!List.of("RESUME_WINDOW_EXPIRED", "UNAUTHENTICATED").contains(Fixture.codeOf(thrown)),
            "the resume was refused: " + thrown.getMessage());
        Thread.sleep(20);
      }
    }
  }

  private void check() {
    Fixture.expectSame(Set.copyOf(jobs.values()).size(), JOBS, "the keys' jobs are not as many:");
    List<Long> numbers = fixture.numbers(null);
    Fixture.expectSame(numbers, upTo(numbers.size()), "the events' numbers were");
    jobs.forEach((name, id) -> {
      List<JsonNode> ours = fixture.received(null).stream().filter(frame -> frame.path("job_id").asText().equals(id)).toList();
      Fixture.expectSame(ours.stream().filter(frame -> frame.at("/payload/kind").asText().equals("progress"))
          .map(frame -> frame.at("/payload/body/current").asLong()).toList(), upTo(STEPS), name + "'s steps were");
      // A client that repeats the submit of an ended job receives its end again.
      Fixture.expectSame(ours.stream().filter(frame -> frame.path("type").asText().equals("job.result"))
          .map(frame -> frame.at("/payload/result").asText()).distinct().toList(), List.of(name), name + " was answered with");
    });
  }

  private static List<Long> upTo(long last) {
    return LongStream.rangeClosed(1, last).boxed().toList();
  }
}
