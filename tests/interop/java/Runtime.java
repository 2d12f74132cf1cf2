import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.node.NullNode;
import com.fasterxml.jackson.databind.node.TextNode;
import dev.arcp.core.auth.Principal;
import dev.arcp.core.credentials.Credential;
import dev.arcp.core.credentials.CredentialId;
import dev.arcp.core.credentials.CredentialScheme;
import dev.arcp.core.error.ErrorCode;
import dev.arcp.core.error.UnauthenticatedException;
import dev.arcp.core.events.ArtifactRefEvent;
import dev.arcp.core.events.LogEvent;
import dev.arcp.core.events.MetricEvent;
import dev.arcp.core.events.ProgressEvent;
import dev.arcp.core.events.ResultChunkEvent;
import dev.arcp.core.events.StatusEvent;
import dev.arcp.core.events.ThoughtEvent;
import dev.arcp.core.events.ToolCallEvent;
import dev.arcp.core.events.ToolResultEvent;
import dev.arcp.core.ids.ResultId;
import dev.arcp.core.lease.Lease;
import dev.arcp.core.lease.LeaseConstraints;
import dev.arcp.core.transport.StdioTransport;
import dev.arcp.core.wire.ArcpMapper;
import dev.arcp.runtime.ArcpRuntime;
import dev.arcp.runtime.agent.Agent;
import dev.arcp.runtime.agent.AgentRegistry;
import dev.arcp.runtime.agent.JobContext;
import dev.arcp.runtime.agent.JobInput;
import dev.arcp.runtime.agent.JobOutcome;
import dev.arcp.runtime.credentials.CredentialProvisioner;
import dev.arcp.runtime.credentials.InMemoryCredentialRevocationStore;
import dev.arcp.runtime.credentials.IssuedCredential;
import dev.arcp.runtime.jetty.ArcpJettyServer;
import java.math.BigDecimal;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;

/**
 * The SDK's runtime with the agents that every scenario of tests/interop knows: Runtime [--stdio] TOKEN OTHER_TOKEN.
 *
 * <p>Prints "ready URL". Ends with its standard input.
 */
final class Runtime {
  private static final int HEARTBEAT_SEC = 1;

  private Runtime() {}

  // ---- agents ----

  private static final Map<String, Agent> AGENTS = Map.of("echo", Runtime::echo, "mirror", Runtime::mirror, "kinds",
      Runtime::kinds, "fails", Runtime::fails, "waits", Runtime::waits, "gated", Runtime::gated, "spends",
      Runtime::spends, "delegates", Runtime::delegates, "chunks", Runtime::chunks, "mixed", Runtime::mixed);

  private static JobOutcome echo(JobInput input, JobContext job) {
    job.emit(new LogEvent("info", "echo"));
    return JobOutcome.Success.inline(input.payload());
  }

  private static JobOutcome mirror(JobInput input, JobContext job) {
    return JobOutcome.Success.inline(input.payload());
  }

  /** A vendor's kind is missing: an event of the SDK's agents is one of the draft's. */
  private static JobOutcome kinds(JobInput input, JobContext job) {
    JsonNode args = ArcpMapper.shared().createObjectNode().put("q", "x");
    for (var event : List.of(new LogEvent("warn", "a log"), new ThoughtEvent("a thought"),
        new ToolCallEvent("search", args, "c1"),
        new ToolResultEvent("c1", ArcpMapper.shared().getNodeFactory().numberNode(3), null),
        new StatusEvent("halfway", "a status"), new MetricEvent("tokens.in", new BigDecimal(12), "tokens", null),
        new ProgressEvent(1, 2L, "pages", "a page"), new ArtifactRefEvent("file:///a.txt", "text/plain", null, null))) {
      job.emit(event);
    }
    return JobOutcome.Success.inline(NullNode.instance);
  }

  private static JobOutcome fails(JobInput input, JobContext job) {
    return new JobOutcome.Failure(ErrorCode.INVALID_REQUEST, "the input is odd");
  }

  private static JobOutcome waits(JobInput input, JobContext job) throws InterruptedException {
    job.emit(new StatusEvent("waiting", null));
    while (!job.cancelled()) {
      Thread.sleep(10);
    }
    return new JobOutcome.Failure(ErrorCode.CANCELLED, "asked to end");
  }

  /** Some progress, then the rest once the file `gate` is there. */
  private static JobOutcome gated(JobInput input, JobContext job) throws InterruptedException {
    Path gate = Path.of(input.payload().get("gate").asText());
    job.emit(new ProgressEvent(1, 3L, null, null));
    while (!Files.exists(gate) && !job.cancelled()) {
      Thread.sleep(10);
    }
    job.emit(new ProgressEvent(2, 3L, null, null));
    job.emit(new ProgressEvent(3, 3L, null, null));
    return JobOutcome.Success.inline(TextNode.valueOf("open"));
  }

  private static JobOutcome spends(JobInput input, JobContext job) throws Exception {
    for (int at = 0; at < 2; at++) {
      job.authorize("tool.call", "search");
      job.emit(new MetricEvent("cost.search", new BigDecimal("0.6"), "USD", null));
    }
    job.authorize("tool.call", "search");
    return JobOutcome.Success.inline(TextNode.valueOf("not stopped"));
  }

  private static JobOutcome delegates(JobInput input, JobContext job) {
    return new JobOutcome.Failure(ErrorCode.INVALID_REQUEST, "the SDK's agents have no way to start a child job");
  }

  private static JobOutcome stream(JobContext job, List<String> encodings, List<String> parts) {
    ResultId id = ResultId.of("res_" + UUID.randomUUID());
    for (int at = 0; at < parts.size(); at++) {
      job.emit(new ResultChunkEvent(id, at, parts.get(at), encodings.get(at), at < parts.size() - 1));
    }
    return JobOutcome.Success.streamed(id, "one two \u00ff three".length(), null);
  }

  private static JobOutcome chunks(JobInput input, JobContext job) {
    return stream(job, List.of("base64", "base64", "base64"), List.of("b25lIA==", "dHdvIP8g", "dGhyZWU="));
  }

  private static JobOutcome mixed(JobInput input, JobContext job) {
    return stream(job, List.of("utf8", "base64", "utf8"), List.of("one ", "dHdvIP8g", "three"));
  }

  // ---- serving ----

  /** One credential for each job that may use a model. */
  private static final class Provisioner implements CredentialProvisioner {
    @Override
    public CompletableFuture<List<IssuedCredential>> issue(Lease lease, LeaseConstraints constraints, JobContext job) {
      Credential one = new Credential(CredentialId.of("cred_" + UUID.randomUUID()), CredentialScheme.BEARER, "secret",
          "https://gateway.example/v1", null, null);
      return CompletableFuture.completedFuture(
          lease.patterns("model.use").isEmpty() ? List.of() : List.of(new IssuedCredential(one, null)));
    }

    @Override
    public CompletableFuture<Void> revoke(CredentialId id) {
      return CompletableFuture.completedFuture(null);
    }
  }

  private static ArcpRuntime newRuntime(String token, String other) {
    AgentRegistry agents = new AgentRegistry();
    AGENTS.forEach((name, agent) -> agents.register(name, "1.0.0", agent));
    for (String version : List.of("1.0.0", "2.0.0")) {
      agents.register("greet", version, (input, job) -> JobOutcome.Success.inline(TextNode.valueOf("hello from " + version)));
    }
    agents.setDefault("greet", "2.0.0");
    return ArcpRuntime.builder().runtimeName("interop-java").agents(agents).heartbeatIntervalSec(HEARTBEAT_SEC)
        .credentialProvisioner(new Provisioner()).credentialRevocationStore(new InMemoryCredentialRevocationStore())
        .verifier(given -> {
          if (!List.of(token, other).contains(given)) {
            throw new UnauthenticatedException("unknown token");
          }
          return new Principal(given.equals(token) ? "me" : "other");
        }).build();
  }

  public static void main(String[] words) throws Exception {
    ArcpRuntime runtime = newRuntime(words[words.length - 2], words[words.length - 1]);
    if (words[0].equals("--stdio")) {
      var ended = new Object() {
        volatile boolean is;
      };
      java.io.InputStream input = new java.io.FilterInputStream(System.in) {
        @Override
        public int read(byte[] into, int from, int size) throws java.io.IOException {
          int count = super.read(into, from, size);
          ended.is = count < 0;
          return count;
        }
      };
      runtime.accept(new StdioTransport(input, System.out).start());
      while (!ended.is) {
        Thread.sleep(10);
      }
    } else {
      System.out.println("ready " + ArcpJettyServer.builder(runtime).build().start().uri());
      while (System.in.read() >= 0) {
        continue;
      }
    }
    System.exit(0);
  }
}
