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

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
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

#define MARK "\n\n\r\n" /* the end of an event in a chunk */
#define LAST "0\r\n\r\n"

static const char answer[] =
    "{\"id\":\"c\",\"object\":\"chat.completion\",\"created\":1,\"model\":\"bench\",\"choices\":[{"
    "\"index\":0,\"message\":{\"role\":\"assistant\",\"content\":\"pong\"},\"finish_reason\":"
    "\"stop\"}],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,\"total_tokens\":11}}";
static const char event[] =
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\","
    "\"choices\":[{\"index\":0,\"delta\":{\"content\":\"pong \"},\"finish_reason\":null}]}\n\n";
static const char end[] =
    "data: {\"id\":\"c\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"bench\","
    "\"choices\":[],\"usage\":{\"prompt_tokens\":10,\"completion_tokens\":1,\"total_tokens\":11}}"
    "\n\ndata: [DONE]\n\n";

/* Where a program sends its calls. */
typedef struct target {
    unsigned port;
    char key[ARCP__GATEWAY_KEY_MAX];
    bool is_gateway;
} target;

static target provider, gateway_target = {.is_gateway = true};
static int next_chunk; /* an eventfd: the provider may send one more */
static uint64_t gateway_calls, gateway_cpu_ns;
static pthread_t runtime;

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "gateway_bench: %s\n", what);
        exit(1);
    }
}

static void write_all(int fd, const char *bytes, size_t size)
{
    for (size_t sent = 0; sent < size;) {
        const ssize_t some = send(fd, bytes + sent, size - sent, MSG_NOSIGNAL);
        must(some > 0, "cannot write");
        sent += (size_t)some;
    }
}

static void set_no_delay(int fd)
{
    const int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int connect_to(unsigned port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(fd >= 0 && connect(fd, (const struct sockaddr *)&address, sizeof address) == 0,
         "cannot connect");
    set_no_delay(fd);
    return fd;
}

/* ---- the provider ---- */

static void send_stream(int fd, unsigned long chunks)
{
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
                               "Transfer-Encoding: chunked\r\n\r\n";
    char chunk[1024];
    const int size = snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n", sizeof event - 1, event);
    write_all(fd, head, sizeof head - 1);
    for (unsigned long i = 0; i < chunks; i++) {
        uint64_t wanted = 0;
        must(read(next_chunk, &wanted, sizeof wanted) == sizeof wanted, "no signal");
        write_all(fd, chunk, (size_t)size);
    }
    const int rest = snprintf(chunk, sizeof chunk, "%zx\r\n%s\r\n" LAST, sizeof end - 1, end);
    write_all(fd, chunk, (size_t)rest);
}

static void send_answer(int fd)
{
    char whole[1024];
    const int size = snprintf(whole, sizeof whole,
                              "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                              "Content-Length: %zu\r\n\r\n%s",
                              sizeof answer - 1, answer);
    write_all(fd, whole, (size_t)size);
}

static void *serve(void *argument)
{
    const int fd = (int)(intptr_t)argument;
    char text[8192];
    size_t size = 0;
    set_no_delay(fd);
    for (;;) {
        const ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        if (got <= 0) {
            break;
        }
        size += (size_t)got;
        text[size] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        const char *length = strcasestr(text, "Content-Length: ");
        if (body == NULL || length == NULL ||
            size < (size_t)(body - text) + 4 + strtoul(length + 16, NULL, 10)) {
            continue;
        }
        const char *limit = strstr(body, "\"max_tokens\":");
        if (strstr(body, "\"stream\":true") != NULL) {
            send_stream(fd, strtoul(limit + 13, NULL, 10));
        } else {
            send_answer(fd);
        }
        size = 0;
    }
    close(fd);
    return NULL;
}

/* Another process, which ends with this one. */
static void start_provider(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t size = sizeof address;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(listener >= 0 && bind(listener, (const struct sockaddr *)&address, sizeof address) == 0 &&
             getsockname(listener, (struct sockaddr *)&address, &size) == 0 &&
             listen(listener, 128) == 0,
         "no socket");
    provider.port = ntohs(address.sin_port);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    must(pid >= 0, "cannot fork");
    if (pid == 0) {
        must(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent, "the parent is gone");
        for (;;) {
            pthread_t thread;
            const int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
            void *argument = (void *)(intptr_t)fd; /* NOLINT(performance-no-int-to-ptr) */
            must(fd >= 0 && pthread_create(&thread, NULL, serve, argument) == 0 &&
                     pthread_detach(thread) == 0,
                 "cannot serve");
        }
    }
    close(listener);
}

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
    must(false, denial->reason.data);
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
    must(arcp__model_config_new(&options, arcp_span_cstr(prices), keys, &config, &err) == ARCP_OK,
         err.message);
    return config;
}

static arcp_authority *make_authority(void)
{
    static const char text[] = "{\"model.use\":[\"bench\"],\"cost.budget\":[\"USD:1000000000\"]}";
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    arcp_error err = {0};
    must(arcp_lease_parse(arcp_span_cstr(text), arcp_span_make(NULL, 0), NULL, &lease, &err) ==
             ARCP_OK,
         err.message);
    arcp_authority_options options = arcp_authority_options_init();
    options.now = arcp__clock_now();
    must(arcp_authority_new(lease, &options, &authority, &err) == ARCP_OK, err.message);
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
    must(uv_loop_init(&loop) == 0 && uv_async_init(&loop, &wake, on_wake) == 0, "no loop");
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
    must(arcp__gateway_new(&options, &gateway, &err) == ARCP_OK, err.message);
    const arcp__gateway_job_options job_options = {.authority = make_authority(),
                                                   .job_id = ARCP_SPAN_LITERAL("job_1"),
                                                   .principal = ARCP_SPAN_LITERAL("bench"),
                                                   .agent = ARCP_SPAN_LITERAL("bench"),
                                                   .events = {on_message, on_denied, NULL}};
    must(arcp__gateway_open(gateway, &job_options, endpoints, &job, &err) == ARCP_OK, err.message);
    (void)snprintf(gateway_target.key, sizeof gateway_target.key, "%s",
                   endpoints[ARCP__GATEWAY_LLM].key);
    gateway_target.port =
        (unsigned)strtoul(strchr(arcp__gateway_address(gateway), ':') + 1, NULL, 10);
    (void)pthread_barrier_wait(&started);
    (void)uv_run(&loop, UV_RUN_DEFAULT); /* until the program ends */
    return NULL;
}

/* ---- the program ---- */

static void send_request(int fd, const target *to, uint64_t chunks)
{
    char body[256];
    char text[1024];
    const char *more = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    const int body_size =
        snprintf(body, sizeof body,
                 "{\"model\":\"bench\",\"max_tokens\":%llu,\"messages\":[{"
                 "\"role\":\"user\",\"content\":\"ping\"}]%s}",
                 (unsigned long long)(chunks == 0 ? 10 : chunks), chunks == 0 ? "" : more);
    const int size = snprintf(text, sizeof text,
                              "POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
                              "Authorization: Bearer %s\r\nContent-Type: application/json\r\n"
                              "Content-Length: %d\r\n\r\n%s",
                              to->port, to->key, body_size, body);
    write_all(fd, text, (size_t)size);
}

/* Reads until `mark` is what was received last. */
static void read_to(int fd, const char *mark)
{
    char text[65536];
    size_t size = 0;
    const size_t mark_size = strlen(mark);
    do {
        const ssize_t got = recv(fd, text + size, sizeof text - size, 0);
        must(got > 0, "the connection has ended");
        size += (size_t)got;
    } while (size < mark_size || memcmp(text + size - mark_size, mark, mark_size) != 0);
}

/* Reads a whole response, in either form. */
static void read_answer(int fd)
{
    char text[8192];
    size_t size = 0;
    for (;;) {
        const ssize_t got = recv(fd, text + size, sizeof text - 1 - size, 0);
        must(got > 0, "the connection has ended");
        size += (size_t)got;
        text[size] = '\0';
        const char *body = strstr(text, "\r\n\r\n");
        if (body == NULL) {
            continue;
        }
        must(strncmp(text, "HTTP/1.1 200", 12) == 0, text);
        const char *length = strcasestr(text, "\r\nContent-Length: ");
        const bool is_whole =
            length != NULL && length < body
                ? size >= (size_t)(body - text) + 4 + strtoul(length + 18, NULL, 10)
                : size >= 5 && memcmp(text + size - 5, LAST, 5) == 0;
        if (is_whole) {
            return;
        }
    }
}

static uint64_t clock_ns(clockid_t clock)
{
    struct timespec time;
    must(clock_gettime(clock, &time) == 0, "no clock");
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

/* CPU time of the gateway's thread: of the process without the two others. */
static uint64_t gateway_ns(void)
{
    clockid_t runtime_clock;
    must(pthread_getcpuclockid(runtime, &runtime_clock) == 0, "no clock");
    return clock_ns(CLOCK_PROCESS_CPUTIME_ID) - clock_ns(CLOCK_THREAD_CPUTIME_ID) -
           clock_ns(runtime_clock);
}

static void run_calls(void *state, uint64_t iterations)
{
    const target *to = state;
    const int fd = connect_to(to->port);
    const uint64_t before = gateway_ns();
    for (uint64_t i = 0; i < iterations; i++) {
        send_request(fd, to, 0);
        read_answer(fd);
    }
    if (to->is_gateway) {
        gateway_cpu_ns += gateway_ns() - before;
        gateway_calls += iterations;
    }
    close(fd);
}

static void run_chunks(void *state, uint64_t iterations)
{
    const target *to = state;
    const uint64_t one = 1;
    const int fd = connect_to(to->port);
    send_request(fd, to, iterations);
    for (uint64_t i = 0; i < iterations; i++) {
        must(write(next_chunk, &one, sizeof one) == sizeof one, "no signal");
        read_to(fd, i + 1 < iterations ? MARK : LAST);
    }
    close(fd);
}

/* ---- idle connections ---- */

static long resident_kib(void)
{
    char text[128];
    char *resident = NULL;
    FILE *file = fopen("/proc/self/statm", "r");
    must(file != NULL && fgets(text, sizeof text, file) != NULL, "no statm");
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
        const int fd = connect_to(gateway_target.port);
        write_all(fd, head, (size_t)size);
        read_answer(fd);
    }
}

/* Connections of another process, which have had a response and wait for the next request. */
static void keep_idle(unsigned count)
{
    const rlim_t needed = (rlim_t)count + 100;
    struct rlimit files;
    int ready[2];
    char byte = 0;
    must(getrlimit(RLIMIT_NOFILE, &files) == 0, "no limit of files");
    files.rlim_cur = files.rlim_max < needed ? files.rlim_max : needed;
    must(setrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur >= needed && pipe(ready) == 0,
         "too few files may be open");
    const long before = resident_kib();
    const pid_t pid = fork();
    must(pid >= 0, "cannot fork");
    if (pid == 0) {
        open_idle(count);
        must(write(ready[1], &byte, 1) == 1, "cannot write");
        (void)pause();
        _exit(0);
    }
    close(ready[1]);
    must(read(ready[0], &byte, 1) == 1, "the connections could not be opened");
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
    start_provider();
    must(next_chunk >= 0 && pthread_barrier_init(&started, NULL, 2) == 0 &&
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
