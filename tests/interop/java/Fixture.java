import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import dev.arcp.client.ArcpClient;
import dev.arcp.client.JobHandle;
import dev.arcp.client.WebSocketTransport;
import dev.arcp.core.error.ArcpException;
import dev.arcp.core.events.EventBody;
import dev.arcp.core.events.ProgressEvent;
import dev.arcp.core.lease.Lease;
import dev.arcp.core.lease.LeaseConstraints;
import dev.arcp.core.transport.StdioTransport;
import dev.arcp.core.transport.Transport;
import dev.arcp.core.wire.ArcpMapper;
import dev.arcp.core.wire.Envelope;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.BooleanSupplier;

/** One scenario's connections to one runtime, and every frame that came over them. */
final class Fixture {
  static final ObjectMapper JSON = ArcpMapper.shared();
  private static final Duration PATIENCE = Duration.ofSeconds(8);

  /** The expectation of a scenario, and what happened instead. */
  static final class Gap extends RuntimeException {
    Gap(String why) {
      super(why);
    }
  }

  final String url;
  private final String token;
  private final String called;
  private final Path folder;
  private final List<JsonNode> frames = new CopyOnWriteArrayList<>();
  private final List<Peer> peers = new CopyOnWriteArrayList<>();
  private final List<Process> programs = new CopyOnWriteArrayList<>();

  Fixture(String url, String token, String called, Path folder) {
    this.url = url;
    this.token = token;
    this.called = called;
    this.folder = folder;
  }

  static void expect(boolean condition, String why) {
    if (!condition) {
      throw new Gap(why);
    }
  }

  static void expectSame(Object came, Object wanted, String what) {
    expect(wanted.equals(came), what + " " + came);
  }

  /** What was thrown in another thread, or under way. */
  static Throwable cause(Throwable thrown) {
    boolean isWrapped = thrown instanceof java.util.concurrent.ExecutionException
        || thrown instanceof java.util.concurrent.CompletionException;
    return isWrapped && thrown.getCause() != null ? cause(thrown.getCause()) : thrown;
  }

  static String codeOf(Throwable thrown) {
    return cause(thrown) instanceof ArcpException error ? error.code().name() : cause(thrown).toString();
  }

  Path gate() {
    return folder.resolve("gate");
  }

  void openGate() throws IOException {
    Files.write(gate(), new byte[0]);
  }

  boolean isStdio() {
    return url.startsWith("stdio:");
  }

  // ---- frames ----

  /** The frames of this type, or all. */
  List<JsonNode> received(String type) {
    return frames.stream().filter(frame -> type == null || frame.path("type").asText().equals(type)).toList();
  }

  List<Long> numbers(String type) {
    return received(type).stream().filter(frame -> frame.has("event_seq")).map(frame -> frame.get("event_seq").asLong())
        .toList();
  }

  void forget() {
    frames.clear();
  }

  void until(BooleanSupplier done) throws InterruptedException {
    while (!done.getAsBoolean()) {
      Thread.sleep(5);
    }
  }

  // ---- connections ----

  /** A transport that keeps what comes, and says when no more does. */
  final class Recorder implements Transport {
    private final Transport inner;
    volatile boolean hasEnded;

    Recorder(Transport inner) {
      this.inner = inner;
    }

    @Override
    public void send(Envelope frame) {
      inner.send(frame);
    }

    @Override
    public Flow.Publisher<Envelope> incoming() {
      return subscriber -> inner.incoming().subscribe(new Flow.Subscriber<>() {
        @Override
        public void onSubscribe(Flow.Subscription subscription) {
          subscriber.onSubscribe(subscription);
        }

        @Override
        public void onNext(Envelope frame) {
          frames.add(JSON.valueToTree(frame));
          subscriber.onNext(frame);
        }

        @Override
        public void onError(Throwable error) {
          hasEnded = true;
          subscriber.onError(error);
        }

        @Override
        public void onComplete() {
          hasEnded = true;
          subscriber.onComplete();
        }
      });
    }

    @Override
    public void close() {
      inner.close();
    }
  }

  /** How to come back to a session. */
  record State(String sessionId, String token, long lastEventSeq) {}

  final class Peer {
    final Recorder line;
    final ArcpClient client;

    Peer(Recorder line, ArcpClient client) {
      this.line = line;
      this.client = client;
    }

    JobHandle submit(String agent, JsonNode input) {
      return submit(agent, input, null, null, null, null);
    }

    JobHandle submit(String agent, JsonNode input, Lease lease, LeaseConstraints constraints, String key, Integer seconds) {
      return client.submit(ArcpClient.jobSubmit(agent, input, lease, constraints, key, seconds));
    }

    /** A job that has said something and waits for the gate. */
    JobHandle startGated() throws InterruptedException {
      JobHandle job = submit("gated", object("gate", gate().toString()));
      new Told(job.events()).next(ProgressEvent.class);
      return job;
    }

    void alive() throws Exception {
      ObjectNode input = JSON.createObjectNode().put("alive", true);
      expectSame(submit("echo", input).result().get().result(), input, "the session does not go on:");
    }

    State state(long lastEventSeq) {
      return new State(client.session().sessionId().value(), client.session().resumeToken(), lastEventSeq);
    }
  }

  private Transport open() throws Exception {
    if (!isStdio()) {
      return WebSocketTransport.connect(URI.create(url));
    }
    Process program = new ProcessBuilder(url.substring("stdio:".length()).split(" "))
        .redirectError(ProcessBuilder.Redirect.INHERIT).start();
    programs.add(program);
    return new StdioTransport(program.getInputStream(), program.getOutputStream()).start();
  }

  Peer connect() throws Exception {
    return connect(token, null);
  }

  Peer connect(String token, State resume) throws Exception {
    Recorder line = new Recorder(open());
    ArcpClient.Builder builder = ArcpClient.builder(line).client(called, "1").bearer(token);
    if (resume != null) {
      builder.resumeToken(resume.token()).lastEventSeq(resume.lastEventSeq());
    }
    Peer peer = new Peer(line, builder.build());
    peers.add(peer);
    peer.client.connect(PATIENCE);
    return peer;
  }

  Peer resume(State state) throws Exception {
    return connect(token, state);
  }

  void leave() throws Exception {
    for (Peer peer : peers) {
      peer.client.close();
    }
    for (Process program : programs) {
      program.getOutputStream().close();
      program.waitFor();
    }
  }

  static ObjectNode object(String name, String value) {
    return JSON.createObjectNode().put(name, value);
  }

  /** The events of a job as the client tells them, and its end. */
  static final class Told implements Flow.Subscriber<EventBody> {
    private static final Object END = new Object();
    private final LinkedBlockingQueue<Object> queue = new LinkedBlockingQueue<>();
    private volatile Throwable error;

    Told(Flow.Publisher<EventBody> events) {
      events.subscribe(this);
    }

    /** The next event of this kind. */
    <T> T next(Class<T> kind) throws InterruptedException {
      for (Object one = queue.take(); one != END; one = queue.take()) {
        if (kind.isInstance(one)) {
          return kind.cast(one);
        }
      }
      throw error != null ? new Gap("refused as " + codeOf(error)) : new Gap("the job ended without a " + kind.getSimpleName());
    }

    /** What is left of them, to the end. */
    List<EventBody> rest() throws InterruptedException {
      List<EventBody> all = new ArrayList<>();
      for (Object one = queue.take(); one != END; one = queue.take()) {
        all.add((EventBody) one);
      }
      return all;
    }

    @Override
    public void onSubscribe(Flow.Subscription subscription) {
      subscription.request(Long.MAX_VALUE);
    }

    @Override
    public void onNext(EventBody event) {
      queue.add(event);
    }

    @Override
    public void onError(Throwable thrown) {
      error = thrown;
      queue.add(END);
    }

    @Override
    public void onComplete() {
      queue.add(END);
    }
  }
}
