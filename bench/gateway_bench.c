/* Calls to a model through a gateway, beside the same calls to the provider itself:
 *
 *   call      a call and its answer, one at a time, on a connection that stays open
 *   chunk     a chunk of a streamed answer: the provider sends it when the program has the one
 * before
 *
 * The program is the main thread; the provider is another process; the gateway has its own thread,
 * with libcurl and a budget that each call is held and settled against. Afterwards: the gateway's
 * CPU time for each call, and what idle connections take (--idle N; default 0). */
#include "harness.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "gateway/gateway.h"
#include "gateway/model_config.h"
#include "gateway/model_service.h"
#include "http/web_client.h"
#include "model_calls.h"

static model_target provider = {.model = "bench"};
static model_target gateway_target = {.model = "bench"};
static int next_chunk; /* an eventfd: the provider may send one more */
static uint64_t gateway_calls, gateway_cpu_ns;
static pthread_t runtime;

/* ---- the gateway ---- */

static arcp__gateway *gateway;
static pthread_barrier_t started;

static void on_wake(uv_async_t *wake)
{
    (void)wake;
    arcp__gateway_take(gateway);
}

static void on_message(void *user, const arcp__job_message *message)
{
    (void)user;
    (void)message;
}

static void on_denied(void *user, const arcp__gateway_denial *denial)
{
    (void)user;
    model_calls_must(false, denial->reason.data);
}

static arcp__model_config *make_config(void)
{
    static const char prices[] =
        "{\"bench\":{\"mode\":\"chat\",\"max_input_tokens\":100000,\"max_output_tokens\":100000000,"
        "\"input_cost_per_token\":1e-06,\"output_cost_per_token\":1e-06}}";
    static const char *const models[] = {"bench"};
    static const char *const keys[] = {"sk-bench"};
    char url[64];
    arcp_error err = {0};
    arcp__model_config *config = NULL;
    (void)snprintf(url, sizeof url, "http://127.0.0.1:%u/v1", provider.port);
    arcp__model_provider_options providers[] = {{.name = "bench",
                                                 .dialect = ARCP__LLM_DIALECT_OPENAI,
                                                 .url = url,
                                                 .models = models,
                                                 .model_count = 1}};
    const arcp__model_options options = {.providers = providers,
                                         .provider_count = 1,
                                         .max_output_tokens = 32768,
                                         .min_output_tokens = 1};
    model_calls_must(
        arcp__model_config_new(&options, arcp_span_cstr(prices), keys, &config, &err) == ARCP_OK,
        err.message);
    return config;
}

static arcp_authority *make_authority(void)
{
    static const char text[] = "{\"model.use\":[\"bench\"],\"cost.budget\":[\"USD:1000000000\"]}";
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    model_calls_must(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease,
                                      &err) == ARCP_OK,
                     err.message);
    arcp_authority_options options = arcp_authority_options_init();
    options.now = arcp__clock_now();
    model_calls_must(arcp_authority_new(lease, &options, &authority, &err) == ARCP_OK, err.message);
    arcp_lease_unref(lease);
    return authority;
}

/* Stands for the runtime: takes what the calls lead to. */
static void *runtime_main(void *argument)
{
    static uv_loop_t loop;
    static uv_async_t wake;
    static arcp__job_gates gates;
    arcp_error err = {0};
    arcp__gateway_job *job = NULL;
    arcp__gateway_endpoint endpoints[ARCP__GATEWAY_KINDS];
    (void)argument;
    model_calls_must(uv_loop_init(&loop) == 0 && uv_async_init(&loop, &wake, on_wake) == 0,
                     "no loop");
    const arcp__gateway_options options = {
        .wake = &wake,
        .listen = "127.0.0.1:0",
        .limits = {.request_bytes = 1u << 25,
                   .buffer_bytes = 1u << 28,
                   .response_bytes = UINT64_C(1) << 40,
                   .calls_per_job = 32,
                   .first_byte_ms = 600000,
                   .idle_timeout_ms = 300000,
                   .hold_wait_ms = 60000},
        .gates = &gates,
        .client = &arcp__web_client_by_libcurl,
        .client_options = {.keeps_connections = true},
        .providers = {[ARCP__GATEWAY_LLM] = {&arcp__model_service, make_config()}}};
    model_calls_must(arcp__gateway_new(&options, &gateway, &err) == ARCP_OK, err.message);
    const arcp__gateway_job_options job_options = {.authority = make_authority(),
                                                   .job_id = ARCP_SPAN_LITERAL("job_1"),
                                                   .principal = ARCP_SPAN_LITERAL("bench"),
                                                   .agent = ARCP_SPAN_LITERAL("bench"),
                                                   .events = {on_message, on_denied, NULL}};
    model_calls_must(arcp__gateway_open(gateway, &job_options, endpoints, &job, &err) == ARCP_OK,
                     err.message);
    (void)snprintf(gateway_target.key, sizeof gateway_target.key, "%s",
                   endpoints[ARCP__GATEWAY_LLM].key);
    gateway_target.port =
        (unsigned)strtoul(strchr(arcp__gateway_address(gateway), ':') + 1, NULL, 10);
    (void)pthread_barrier_wait(&started);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* until the program ends */
    return NULL;
}

/* ---- the program ---- */

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    model_calls_must(clock_gettime(clock, &time) == 0, "no clock");
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* CPU time of the gateway's thread: of the process without the two others. */
static uint64_t gateway_ns(void)
{
    clockid_t runtime_clock;
    model_calls_must(pthread_getcpuclockid(runtime, &runtime_clock) == 0, "no clock");
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID) -
           clock_ns(runtime_clock);
}

static void run_calls(void *state, uint64_t iterations)
{
    const model_target *to = state;
    const int fd = model_connect(to->port);
    const uint64_t before = gateway_ns();
    for (uint64_t i = 0; i < iterations; i++) {
        model_send(fd, to, 0);
        model_read_answer(fd);
    }
    if (to == &gateway_target) {
        gateway_cpu_ns += gateway_ns() - before;
        gateway_calls += iterations;
    }
    close(fd);
}

static void run_chunks(void *state, uint64_t iterations)
{
    const model_target *to = state;
    const uint64_t one = 1;
    const int fd = model_connect(to->port);
    model_send(fd, to, iterations);
    for (uint64_t i = 0; i < iterations; i++) {
        model_calls_must(write(next_chunk, &one, sizeof one) == sizeof one, "no signal");
        model_read_to(fd, i + 1 < iterations ? MODEL_CALLS_EVENT : MODEL_CALLS_LAST);
    }
    close(fd);
}

/* ---- idle connections ---- */

static long resident_kib(void)
{
    char text[128];
    char *resident = NULL;
    FILE *file = fopen("/proc/self/statm", "r");
    model_calls_must(file != NULL && fgets(text, sizeof text, file) != NULL, "no statm");
    (void)fclose(file);
    (void)strtol(text, &resident, 10); /* all pages */
    return strtol(resident, NULL, 10) * (sysconf(_SC_PAGESIZE) / 1024);
}

static void open_idle(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        char head[512];
        const int size = snprintf(head, sizeof head,
                                  "GET /v1/models HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                                  "Authorization: Bearer %s\r\n\r\n",
                                  gateway_target.port, gateway_target.key);
        const int fd = model_connect(gateway_target.port);
        model_write(fd, head, (size_t)size);
        model_read_answer(fd);
    }
}

/* Connections of another process, which have had a response and wait for the next request. */
static void keep_idle(unsigned count)
{
    const rlim_t needed = (rlim_t)count + 100;
    struct rlimit files;
    int ready[2];
    char byte = 0;
    model_calls_must(getrlimit(RLIMIT_NOFILE, &files) == 0, "no limit of files");
    files.rlim_cur = files.rlim_max < needed ? files.rlim_max : needed;
    model_calls_must(setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= needed &&
                         pipe(ready) == 0,
                     "too few files may be open");
    const long before = resident_kib();
    const pid_t pid = fork();
    model_calls_must(pid >= 0, "cannot fork");
    if (pid == 0) {
        open_idle(count);
        model_calls_must(write(ready[1], &byte, 1) == 1, "cannot write");
        (void)pause();
        _exit(0);
    }
    close(ready[1]);
    model_calls_must(read(ready[0], &byte, 1) == 1, "the connections could not be opened");
    (void)printf("idle connections: %u, %.1f MB\n", count,
                 (double)(resident_kib() - before) * 1024 / 1e6);
    (void)kill(pid, SIGKILL);
    (void)waitpid(pid, NULL, 0);
}

int main(int argc, char **argv)
{
    unsigned idle = 0;
    if (argc >= 3 && strcmp(argv[argc - 2], "--idle") == 0) {
        idle = (unsigned)strtoul(argv[argc - 1], NULL, 10);
        argc -= 2;
        argv[argc] = NULL;
    }
    (void)signal(SIGPIPE, SIG_IGN);
    next_chunk = eventfd(0, EFD_CLOEXEC | EFD_SEMAPHORE);
    provider.port = model_provider_start(next_chunk);
    model_calls_must(next_chunk >= 0 && pthread_barrier_init(&started, NULL, 2) == 0 &&
                         pthread_create(&runtime, NULL, runtime_main, NULL) == 0,
                     "no thread");
    (void)pthread_barrier_wait(&started);
    const bench_case cases[] = {
        {.name = "call/direct", .run = run_calls, .state = &provider},
        {.name = "call", .baseline = "call/direct", .run = run_calls, .state = &gateway_target},
        {.name = "chunk/direct", .run = run_chunks, .state = &provider},
        {.name = "chunk", .baseline = "chunk/direct", .run = run_chunks, .state = &gateway_target},
    };
    const int status = bench_main(argc, argv, "gateway", cases, sizeof cases / sizeof *cases);
    if (gateway_calls != 0) {
        (void)printf("CPU time of the gateway's thread: %.1f us for each call, %.0f calls/s\n",
                     (double)gateway_cpu_ns / 1e3 / (double)gateway_calls,
                     (double)gateway_calls * 1e9 / (double)gateway_cpu_ns);
    }
    if (idle != 0) {
        keep_idle(idle);
    }
    return status;
}
