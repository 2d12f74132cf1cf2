/* A call of a tool and its response, one after the other:
 *
 *   call/direct    a server over pipes
 *   call/mcp       the same behind `arcp mcp`
 *   call/mcp+log   with --log, where each call waits for its line
 *   filter         what `arcp mcp` does without its pipes and processes: both lines through the
 * filter
 *
 * `call/large/...` have a result of 64 KiB. The server is this program. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "mcp/mcp.h"

#define CALL                                                                                       \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"read_file\","  \
    "\"arguments\":{\"path\":\"/srv/project/notes.txt\"}}}\n"
#define RESPONSE_HEAD                                                                              \
    "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\""
#define RESPONSE_TAIL "\"}]}}\n"
#define SMALL         ((size_t)64)
#define LARGE         ((size_t)65536)

static const char arcp[] = ARCP_BINARY_DIR "/bin/arcp";
static char self[4096];
static char log_name[] = "/tmp/arcp-bench-mcp-XXXXXX";

static void must(bool holds, const char *what)
{
    if (!holds) {
        (void)fprintf(stderr, "mcp_bench: %s failed\n", what);
        exit(1);
    }
}

static void write_all(int fd, const char *bytes, size_t size)
{
    while (size != 0) {
        const ssize_t written = write(fd, bytes, size);
        must(written > 0, "write");
        bytes += written;
        size -= (size_t)written;
    }
}

static size_t make_response(char *out, size_t size)
{
    const size_t head = sizeof RESPONSE_HEAD - 1;
    memcpy(out, RESPONSE_HEAD, head);
    memset(out + head, 'a', size);
    memcpy(out + head + size, RESPONSE_TAIL, sizeof RESPONSE_TAIL - 1);
    return head + size + sizeof RESPONSE_TAIL - 1;
}

/* A line in, the response out. Returns at the end of the input. */
static int serve(size_t size)
{
    static char response[LARGE + 256];
    char bytes[65536];
    const size_t total = make_response(response, size);
    ssize_t got;
    while ((got = read(STDIN_FILENO, bytes, sizeof bytes)) > 0) {
        if (bytes[got - 1] == '\n') {
            write_all(STDOUT_FILENO, response, total);
        }
    }
    return 0;
}

/* ---- programs ---- */

typedef struct peer {
    bool is_behind_arcp, has_log;
    size_t size; /* of a result */
    int to, from;
    pid_t pid;
} peer;

static void execute(const peer *p)
{
    char size[32];
    const char *words[12] = {arcp, "mcp", "--quiet", "--tool", "read_*"};
    size_t count = 5;
    (void)snprintf(size, sizeof size, "%zu", p->size);
    if (p->has_log) {
        words[count++] = "--log";
        words[count++] = log_name;
    }
    words[count++] = "--";
    count = p->is_behind_arcp ? count : 0;
    words[count++] = self;
    words[count++] = "--serve";
    words[count++] = size;
    words[count] = NULL;
    (void)execv(words[0], (char *const *)(const void *)words);
    _exit(127);
}

/* Each case has its server, started when it is first run. */
static void start(peer *p)
{
    int to[2];
    int from[2];
    must(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0, "pipe");
    p->pid = fork();
    must(p->pid >= 0, "fork");
    if (p->pid == 0) {
        (void)dup2(to[0], STDIN_FILENO);
        (void)dup2(from[1], STDOUT_FILENO);
        execute(p);
    }
    (void)close(to[0]);
    (void)close(from[1]);
    p->to = to[1];
    p->from = from[0];
}

static void run_calls(void *state, uint64_t iterations)
{
    static char bytes[65536];
    peer *p = state;
    if (p->pid == 0) {
        start(p);
    }
    for (uint64_t i = 0; i < iterations; i++) {
        write_all(p->to, CALL, sizeof CALL - 1);
        ssize_t got;
        do {
            got = read(p->from, bytes, sizeof bytes);
            must(got > 0, "read");
        } while (bytes[got - 1] != '\n');
    }
}

/* ---- the filter alone ---- */

typedef struct filtering {
    arcp__mcp_output output;
    arcp__mcp_filter *filter;
    char response[1024];
    size_t response_size;
} filtering;

static bool on_decided(void *user, const arcp_decision *decision)
{
    return true;
}

static void on_listed(void *user, size_t shown, size_t hidden)
{
}

static void on_dropped(void *user, arcp__mcp_side from, const char *why, arcp_span line)
{
    must(false, why);
}

static void set_up(filtering *f)
{
    arcp_lease *lease = NULL;
    arcp_authority *authority = NULL;
    must(arcp_lease_parse(ARCP_SPAN_LITERAL("{\"tool.call\":[\"read_*\"]}"),
                          arcp_span_make(NULL, 0), NULL, &lease, NULL) == ARCP_OK &&
             arcp_authority_new(lease, NULL, &authority, NULL) == ARCP_OK,
         "lease");
    const arcp__mcp_filter_options options = {.authority = authority,
                                              .output = &f->output,
                                              .events = {on_decided, on_listed, on_dropped, f}};
    must(arcp__mcp_filter_new(&options, &f->filter, NULL) == ARCP_OK, "filter");
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
    f->response_size = make_response(f->response, SMALL) - 1;
}

static void run_filter(void *state, uint64_t iterations)
{
    static const arcp_time now = {0, 0};
    filtering *f = state;
    if (f->filter == NULL) {
        set_up(f);
    }
    for (uint64_t i = 0; i < iterations; i++) {
        must(arcp__mcp_filter_take_client(f->filter, now, arcp_span_make(CALL, sizeof CALL - 2),
                                          NULL) == ARCP_OK &&
                 arcp__mcp_filter_take_server(f->filter, now,
                                              arcp_span_make(f->response, f->response_size),
                                              NULL) == ARCP_OK &&
                 f->output.to_client.size == f->response_size + 1,
             "filter");
        arcp_buf_clear(&f->output.to_client);
        arcp_buf_clear(&f->output.to_server);
    }
}

int main(int argc, char **argv)
{
    static peer direct = {.size = SMALL};
    static peer behind = {.is_behind_arcp = true, .size = SMALL};
    static peer logged = {.is_behind_arcp = true, .has_log = true, .size = SMALL};
    static peer large_direct = {.size = LARGE};
    static peer large_behind = {.is_behind_arcp = true, .size = LARGE};
    static filtering filter;
    static const bench_case cases[] = {
        {.name = "call/direct", .run = run_calls, .state = &direct},
        {.name = "call/mcp", .baseline = "call/direct", .run = run_calls, .state = &behind},
        {.name = "call/mcp+log", .baseline = "call/direct", .run = run_calls, .state = &logged},
        {.name = "call/large/direct", .run = run_calls, .state = &large_direct},
        {.name = "call/large/mcp",
         .baseline = "call/large/direct",
         .run = run_calls,
         .state = &large_behind},
        {.name = "filter", .run = run_filter, .state = &filter},
    };
    if (argc == 3 && strcmp(argv[1], "--serve") == 0) {
        return serve(strtoul(argv[2], NULL, 10));
    }
    (void)signal(SIGPIPE, SIG_IGN);
    const ssize_t size = readlink("/proc/self/exe", self, sizeof self - 1);
    const int log = mkstemp(log_name);
    must(size > 0 && log >= 0, "set-up");
    (void)close(log);
    const int status = bench_main(argc, argv, "arcp mcp", cases, sizeof cases / sizeof cases[0]);
    /* The servers end with this program, which has the other ends of their pipes. */
    (void)unlink(log_name);
    arcp__mcp_filter_free(filter.filter);
    arcp_buf_fini(&filter.output.to_client);
    arcp_buf_fini(&filter.output.to_server);
    return status;
}
