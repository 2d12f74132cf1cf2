import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.arcp.client.ArcpClient;
import dev.arcp.client.JobHandle;
import dev.arcp.client.ResultStream;
import dev.arcp.client.SubscribeOptions;
import dev.arcp.core.capabilities.Feature;
import dev.arcp.core.credentials.Credential;
import dev.arcp.core.error.ArcpException;
import dev.arcp.core.events.DelegateEvent;
import dev.arcp.core.events.EventBody;
import dev.arcp.core.events.MetricEvent;
import dev.arcp.core.events.ProgressEvent;
import dev.arcp.core.events.ResultChunkEvent;
import dev.arcp.core.events.StatusEvent;
import dev.arcp.core.events.ToolCallEvent;
import dev.arcp.core.ids.JobId;
import dev.arcp.core.ids.TraceId;
import dev.arcp.core.lease.Lease;
import dev.arcp.core.lease.LeaseConstraints;
import dev.arcp.core.messages.JobFilter;
import dev.arcp.core.messages.JobSummary;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/** What is asked of the SDK's client: each scenario throws when something is not as it should be. */
final class Scenarios {
  private static final JsonNode NOTHING = Fixture.JSON.createObjectNode();
  private static final Lease ANY_TOOL = Lease.builder().allow("tool.call", "*").build();
  private static final long HEARTBEAT_MS = 1000; // of both runtimes
  private static final int RUNS = Integer.parseInt(System.getenv().getOrDefault("INTEROP_RUNS", "1"));

  /** Scenarios that take longer than others. */
  static final Map<String, Long> PATIENCE_SEC = Map.of("pipelining", 20L + RUNS / 4, "disturbance", 60L);

  private Scenarios() {}

  static void play(String name, Fixture fixture) throws Exception {
    switch (name) {
      case "hello" -> hello(fixture);
      case "submit" -> submit(fixture);
      case "events" -> events(fixture);
      case "result" -> result(fixture);
      case "error" -> ends(fixture, "fails", null, null, "INVALID_REQUEST");
      case "refusal" -> refusal(fixture);
      case "cancel" -> cancel(fixture);
      case "deadline" -> ends(fixture, "waits", null, 1, "TIMEOUT");
      case "list" -> list(fixture);
      case "subscribe" -> observe(fixture, SubscribeOptions.live(), 2);
      case "history" -> observe(fixture, SubscribeOptions.withHistory(0), 1);
      case "denied" -> denied(fixture);
      case "resume" -> resume(fixture);
      case "replay" -> replay(fixture);
      case "ack" -> ack(fixture);
      case "heartbeat" -> heartbeat(fixture);
      case "idempotency" -> idempotency(fixture);
      case "budget" -> budget(fixture);
      case "expiry" -> ends(fixture, "waits", LeaseConstraints.of(Instant.now().plusSeconds(1)), null, "LEASE_EXPIRED");
      case "delegation" -> delegation(fixture);
      case "chunks", "mixed" -> streamed(fixture, name);
      case "versions" -> versions(fixture);
      case "credentials" -> credentials(fixture);
      case "trace" -> trace(fixture);
      case "close" -> close(fixture);
      case "pipelining" -> pipelining(fixture);
      case "disturbance" -> new Disturbance(fixture).play();
      default -> throw new Fixture.Gap("there is no such scenario");
    }
  }

  private static ObjectNode number(int n) {
    return Fixture.JSON.createObjectNode().put("n", n);
  }

  private static JsonNode resultOf(JobHandle job) throws Exception {
    return job.result().get().result();
  }

  /** How a job ended: a status, or an error's code. */
  private static String ending(JobHandle job) throws Exception {
    return job.result().handle((end, error) -> error == null ? end.finalStatus() : Fixture.codeOf(error)).get();
  }

  private static void refused(Callable<?> request, String code) throws Exception {
    try {
      request.call();
    } catch (Exception thrown) {
      Fixture.expect(Fixture.codeOf(thrown).equals(code), "refused as " + Fixture.codeOf(thrown) + " instead of " + code);
      return;
    }
    throw new Fixture.Gap("not refused as " + code);
  }

  // ---- the session ----

  private static void hello(Fixture fixture) throws Exception {
    var session = fixture.connect().client.session();
    Fixture.expect(session.negotiatedFeatures().contains(Feature.SUBSCRIBE), "subscribe was not negotiated");
    Fixture.expect(session.availableAgents().stream().anyMatch(agent -> agent.name().equals("greet")
        && "2.0.0".equals(agent.defaultVersion())), "the inventory of agents has no default version");
    if (!fixture.isStdio()) { // a runtime trusts the process that starts it
      refused(() -> fixture.connect("wrong", null), "UNAUTHENTICATED");
    }
  }

  private static void ack(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    JobHandle job = peer.startGated();
    peer.client.ack(peer.client.lastSeenSeq());
    fixture.openGate();
    Fixture.expectSame(resultOf(job), TextNode.valueOf("open"), "not the job's result:");
    peer.alive();
  }

  private static void heartbeat(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    Thread.sleep(HEARTBEAT_MS * 5 / 2);
    Fixture.expect(!fixture.received("session.ping").isEmpty(), "no ping came");
    peer.alive();
  }

  private static void close(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    var other = fixture.connect();
    var id = peer.startGated().jobId();
    peer.client.close();
    fixture.openGate();
    for (String status = ""; !status.equals("success");) {
      status = other.client.listJobs(new JobFilter(null, "gated", null)).items().stream()
          .filter(row -> row.jobId().equals(id)).map(JobSummary::status).findFirst().orElse("not listed");
      Fixture.expect(List.of("running", "success").contains(status), "the job is " + status + " after its session closed");
    }
  }

  // ---- coming back ----

  /** Cuts the connection of a job that has said something; how to come back. */
  private static Fixture.State cutAfterEvents(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    peer.startGated();
    Fixture.State state = peer.state(peer.client.lastSeenSeq());
    peer.line.close();
    return state;
  }

  private static List<Long> upTo(long last) {
    return LongStream.rangeClosed(1, last).boxed().toList();
  }

  private static void resume(Fixture fixture) throws Exception {
    Fixture.State left = cutAfterEvents(fixture);
    fixture.openGate();
    var peer = fixture.resume(left);
    Fixture.expectSame(peer.client.session().sessionId().value(), left.sessionId(), "resumed as another session:");
    fixture.until(() -> !fixture.received("job.result").isEmpty());
    Fixture.expectSame(fixture.numbers(null), upTo(left.lastEventSeq() + 3), "the events' numbers were");
    Fixture.expectSame(fixture.received("job.result").getFirst().at("/payload/result").asText(), "open", "not the job's result:");
  }

  private static void replay(Fixture fixture) throws Exception {
    Fixture.State left = cutAfterEvents(fixture);
    fixture.forget();
    fixture.resume(new Fixture.State(left.sessionId(), left.token(), 0));
    fixture.until(() -> fixture.numbers("job.event").size() >= left.lastEventSeq());
    Fixture.expectSame(fixture.numbers("job.event"), upTo(left.lastEventSeq()), "the events' numbers were");
  }

  // ---- jobs ----

  private static void submit(Fixture fixture) throws Exception {
    Lease lease = Lease.builder().allow("fs.read", "/srv/**").build();
    JobHandle job = fixture.connect().submit("echo", number(1), lease, null, null, null);
    // A runtime may name the version that it chose.
    Fixture.expect(job.resolvedAgent().split("@")[0].equals("echo"), "accepted as " + job.resolvedAgent());
    Fixture.expectSame(job.accepted().lease(), lease, "the lease became");
    job.result().get();
  }

  private static void events(Fixture fixture) throws Exception {
    JobHandle job = fixture.connect().submit("kinds", NOTHING, ANY_TOOL, null, null, null);
    List<EventBody> told = new Fixture.Told(job.events()).rest().stream()
        .filter(body -> !(body instanceof StatusEvent status && status.phase().equals("running"))).toList();
    Fixture.expectSame(told.stream().map(body -> body.kind().wire()).toList(), List.of("log", "thought", "tool_call",
        "tool_result", "status", "metric", "progress", "artifact_ref", "x-vendor.acme.note"), "the events were");
    Fixture.expectSame(((ToolCallEvent) told.get(2)).args(), Fixture.object("q", "x"), "tool_call came with");
    Fixture.expectSame(((MetricEvent) told.get(5)).value().intValueExact(), 12, "metric came with");
  }

  private static void result(Fixture fixture) throws Exception {
    JsonNode value = Fixture.JSON.readTree(
        "{\"text\":\"gr\u00fc\u00dfe \ud83d\ude00\\n\",\"nested\":[1,-2.5,null,{\"deep\":[true]}]}");
    Fixture.expectSame(resultOf(fixture.connect().submit("echo", value)), value, "the result was");
  }

  private static void ends(Fixture fixture, String agent, LeaseConstraints constraints, Integer seconds, String code)
      throws Exception {
    var peer = fixture.connect();
    Fixture.expectSame(ending(peer.submit(agent, NOTHING, null, constraints, null, seconds)), code, "the job ended as");
    peer.alive();
  }

  private static void refusal(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    refused(() -> peer.submit("nobody", NOTHING), "AGENT_NOT_AVAILABLE");
    peer.alive();
  }

  private static void cancel(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    JobHandle job = peer.submit("waits", NOTHING);
    Fixture.Told told = new Fixture.Told(job.events());
    while (!told.next(StatusEvent.class).phase().equals("waiting")) {
      continue;
    }
    job.cancel();
    Fixture.expectSame(ending(job), "CANCELLED", "the job ended as");
    peer.alive();
  }

  private static void list(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    List<JobHandle> jobs = new ArrayList<>();
    for (int at = 0; at < 3; at++) {
      jobs.add(peer.submit("echo", NOTHING));
      jobs.get(at).result().get();
    }
    List<Object> listed = new ArrayList<>();
    String cursor = null;
    do {
      var page = peer.client.listJobs(new JobFilter(null, "echo", null), 2, cursor);
      page.items().stream().filter(row -> row.status().equals("success")).forEach(row -> listed.add(row.jobId()));
      cursor = page.nextCursor();
    } while (cursor != null);
    for (JobHandle job : jobs) {
      long times = listed.stream().filter(job.jobId()::equals).count();
      Fixture.expect(times == 1, "a job that ended is listed " + times + " x");
    }
  }

  /** What a followed job ends with is in a frame: the client says only that it ended. */
  private static void observe(Fixture fixture, SubscribeOptions options, int next) throws Exception {
    var owner = fixture.connect();
    var observer = fixture.connect();
    var id = owner.startGated().jobId();
    Fixture.Told told = new Fixture.Told(observer.client.subscribe(id, options));
    fixture.until(() -> !fixture.received("job.subscribed").isEmpty());
    for (; next <= 3; next++) {
      if (next == 2) {
        fixture.openGate();
      }
      Fixture.expectSame(told.next(ProgressEvent.class).current(), (long) next, "not event " + next + ":");
    }
    told.rest();
    Fixture.expectSame(fixture.received("job.result").getLast().at("/payload/result").asText(), "open", "not the job's result:");
    observer.alive();
  }

  private static void unknownJob(Fixture.Peer peer) throws InterruptedException {
    JobId absent = JobId.generate();
    try {
      new Fixture.Told(peer.client.subscribe(absent, SubscribeOptions.live())).next(ProgressEvent.class);
    } catch (Fixture.Gap gap) {
      Fixture.expectSame(gap.getMessage(), "refused as JOB_NOT_FOUND", "an unknown job:");
    }
  }

  private static void denied(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    unknownJob(peer);
    JobHandle job = peer.startGated();
    unknownJob(peer);
    fixture.openGate();
    Fixture.expectSame(resultOf(job), TextNode.valueOf("open"), "not the job's result:");
  }

  private static void idempotency(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    String key = UUID.randomUUID().toString();
    JobHandle one = peer.submit("echo", number(1), null, null, key, null);
    Fixture.expectSame(resultOf(one), number(1), "not the job's result:");
    JobHandle again = peer.submit("echo", number(1), null, null, key, null);
    Fixture.expectSame(again.jobId(), one.jobId(), "another job was started:");
    refused(() -> peer.submit("echo", number(2), null, null, key, null), "DUPLICATE_KEY");
    peer.alive();
    Fixture.expectSame(resultOf(again), number(1), "not the first job's result:");
  }

  private static void streamed(Fixture fixture, String agent) throws Exception {
    JobHandle job = fixture.connect().submit(agent, NOTHING);
    ResultStream stream = ResultStream.toMemory(null);
    for (EventBody body : new Fixture.Told(job.events()).rest()) {
      if (body instanceof ResultChunkEvent chunk) {
        stream.accept(chunk);
      }
    }
    byte[] whole = "one two \u00ff three".getBytes(StandardCharsets.ISO_8859_1);
    Fixture.expect(Arrays.equals(stream.bytes(), whole), "the chunks were " + new String(stream.bytes(), StandardCharsets.ISO_8859_1));
    Fixture.expectSame(job.result().get().resultSize(), (long) whole.length, "the result's size came as");
  }

  private static void versions(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    for (var row : Map.of("greet", "2.0.0", "greet@1.0.0", "1.0.0").entrySet()) {
      JobHandle job = peer.submit(row.getKey(), NOTHING);
      Fixture.expectSame(job.resolvedAgent(), "greet@" + row.getValue(), row.getKey() + " was accepted as");
      Fixture.expectSame(resultOf(job).asText(), "hello from " + row.getValue(), "another version answered:");
    }
    refused(() -> peer.submit("greet@9.0.0", NOTHING), "AGENT_VERSION_NOT_AVAILABLE");
  }

  private static void trace(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    TraceId trace = TraceId.generate();
    peer.client.submit(ArcpClient.jobSubmit("echo", NOTHING), trace).result().get();
    var traces = fixture.received(null).stream().filter(frame -> frame.has("job_id"))
        .map(frame -> frame.path("trace_id").asText()).collect(Collectors.toSet());
    Fixture.expectSame(traces, java.util.Set.of(trace.value()), "the job's frames have the traces");
  }

  // ---- authority ----

  private static void budget(Fixture fixture) throws Exception {
    Lease lease = Lease.builder().allow("tool.call", "*").allow("cost.budget", "USD:1.00").build();
    JobHandle job = fixture.connect().submit("spends", NOTHING, lease, null, null, null);
    var budget = job.accepted().budget();
    Fixture.expect(budget != null && budget.get("USD").compareTo(BigDecimal.ONE) == 0, "accepted with the budget " + budget);
    Fixture.expectSame(ending(job), "BUDGET_EXHAUSTED", "the job ended as");
    List<BigDecimal> left = new Fixture.Told(job.events()).rest().stream()
        .filter(body -> body instanceof MetricEvent metric && metric.name().equals("cost.budget.remaining"))
        .map(body -> ((MetricEvent) body).value()).toList();
    Fixture.expect(!left.isEmpty() && left.getLast().compareTo(new BigDecimal("-0.2")) == 0, "what remained was reported as " + left);
  }

  private static void delegation(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    JobHandle job = peer.submit("delegates", number(1), Lease.builder().allow("agent.delegate", "*").build(), null, null, null);
    // Another submit, while the parent starts its child: each gets its own response.
    JobHandle other = peer.submit("echo", number(2));
    DelegateEvent body = new Fixture.Told(job.events()).next(DelegateEvent.class);
    Fixture.expect(body.childJobId() != null && body.agent().equals("echo"), "delegate came as " + body);
    Fixture.expectSame(resultOf(job), number(1), "not the child's result:");
    Fixture.expectSame(resultOf(other), number(2), "the other submit got another job's answer:");
  }

  private static void credentials(Fixture fixture) throws Exception {
    var peer = fixture.connect();
    Fixture.expect(peer.client.session().negotiatedFeatures().contains(Feature.PROVISIONED_CREDENTIALS),
        "credentials were not negotiated");
    JobHandle job = peer.submit("greet", NOTHING, Lease.builder().allow("model.use", "fast/*").build(), null, null, null);
    List<Credential> came = job.credentials().orElse(List.of());
    Fixture.expect(came.size() == 1, came.size() + " credentials came");
    Fixture.expect(!came.getFirst().value().isEmpty() && !came.getFirst().endpoint().isEmpty(), "the credential has no value");
    job.result().get();
  }

  // ---- many at once ----

  private static void pipelining(Fixture fixture) throws Exception {
    for (int run = 1; run <= RUNS; run++) {
      ArcpClient client = fixture.connect().client;
      List<CompletableFuture<String>> answers = new ArrayList<>();
      for (int n = 0; n < 20; n++) {
        String wanted = n % 5 == 3 ? "AGENT_NOT_AVAILABLE" : "n" + n;
        int at = n;
        answers.add(client.submitAsync(ArcpClient.jobSubmit(n % 5 == 3 ? "nobody" : "mirror", TextNode.valueOf("n" + n)))
            .thenCompose(JobHandle::result)
            .handle((end, error) -> error == null ? end.result().asText() : Fixture.codeOf(error))
            .thenApply(came -> came.equals(wanted) ? null : "submit " + at + ": want " + wanted + " got " + came));
      }
      List<String> wrong = new ArrayList<>();
      for (var answer : answers) {
        if (answer.get() != null) {
          wrong.add(answer.get());
        }
      }
      Fixture.expect(wrong.isEmpty(), "in run " + run + " " + wrong.size() + " of 20 promises got another submit's answer; "
          + String.join("; ", wrong.subList(0, Math.min(1, wrong.size()))));
      client.close();
    }
  }
}
