/* An MCP server for tests, and servers that misbehave. It reads what `arcp mcp` writes, in which
 * the id and the method come first.
 *
 *   mcp_stand_in MODE [ARGUMENT]
 *
 * serve       answers; the result of a call is the line of the call
 * noise       prints a line that is no message first
 * exit N      ends with status N at a call;   kill: by SIGKILL
 * silent      does not answer calls, and prints its input on standard error
 * deaf        reads nothing, and stays after the end of its input
 * stubborn    the same, and ignores SIGTERM
 * quiet       closes its output at a call, and stays
 * long        answers a call with more than 8 MiB
 * flood       writes until nothing is read any more, reports how much that was, and writes on
 * asks        asks the client for sampling at a call, and reports the answer on standard error
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG_BYTES  ((size_t)9 * 1024 * 1024)
#define FLOOD_BYTES ((size_t)16 * 1024 * 1024)
#define STALLED_MS  500

static const char *mode;
static int exit_status;

static void wait_for_a_signal(void)
{
    for (;;) {
        (void)pause();
    }
}

/* The JSON value that begins here and ends before a comma. */
static void copy_id(const char *line, char id[64])
{
    const char *at = strstr(line, "\"id\":");
    size_t size = 0;
    if (at != NULL) {
        at += 5;
        size = strcspn(at, ",");
        size = size < 63 ? size : 63;
        memcpy(id, at, size);
    }
    id[size] = '\0';
}

static void answer(const char *id, const char *result)
{
    (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", id, result);
    (void)fflush(stdout);
}

/* The line as a JSON string. */
static void answer_with_line(const char *id, const char *line)
{
    (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\","
                 "\"text\":\"",
                 id);
    for (; *line != '\0' && *line != '\n'; line++) {
        (void)printf("%s%c", *line == '"' || *line == '\\' ? "\\" : "", *line);
    }
    (void)printf("\"}]}}\n");
    (void)fflush(stdout);
}

static void answer_long(const char *id)
{
    (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"a\":\"", id);
    for (size_t i = 0; i < LONG_BYTES; i++) {
        (void)putchar('a');
    }
    (void)printf("\"}}\n");
    (void)fflush(stdout);
}

/* Notifications, first without waiting for the reader. */
static void flood(void)
{
    static const char line[] = "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\","
                               "\"params\":{\"level\":\"info\",\"data\":\"0123456789abcdef\"}}\n";
    size_t total = 0;
    size_t at = 0;
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    (void)fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK);
    while (poll(&out, 1, STALLED_MS) == 1 && total < FLOOD_BYTES) {
        const ssize_t size = write(STDOUT_FILENO, line + at, sizeof line - 1 - at);
        total += size > 0 ? (size_t)size : 0;
        at = (at + (size > 0 ? (size_t)size : 0)) % (sizeof line - 1);
    }
    (void)fprintf(stderr, "stalled after %zu\n", total);
    (void)fcntl(STDOUT_FILENO, F_SETFL, 0);
    while (total < FLOOD_BYTES || at != 0) {
        const ssize_t size = write(STDOUT_FILENO, line + at, sizeof line - 1 - at);
        total += (size_t)size;
        at = (at + (size_t)size) % (sizeof line - 1);
    }
}

static void call(const char *id, const char *line)
{
    if (strcmp(mode, "exit") == 0) {
        exit(exit_status);
    } else if (strcmp(mode, "kill") == 0) {
        (void)raise(SIGKILL);
    } else if (strcmp(mode, "silent") == 0) {
        (void)fprintf(stderr, "got %s", line);
    } else if (strcmp(mode, "quiet") == 0) {
        (void)close(STDOUT_FILENO);
        wait_for_a_signal();
    } else if (strcmp(mode, "long") == 0) {
        answer_long(id);
    } else if (strcmp(mode, "flood") == 0) {
        flood();
        answer(id, "{}");
    } else if (strcmp(mode, "asks") == 0) {
        (void)printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"sampling/createMessage\"}\n", id);
        answer(id, "{\"content\":[]}");
    } else {
        answer_with_line(id, line);
    }
}

static void take(const char *line)
{
    char id[64];
    copy_id(line, id);
    if (strstr(line, "\"method\":\"initialize\"") != NULL) {
        answer(id, "{\"protocolVersion\":\"2025-11-25\",\"capabilities\":{\"tools\":{},\"prompts\":"
                   "{}},\"serverInfo\":{\"name\":\"stand-in\",\"version\":\"1\"}}");
    } else if (strstr(line, "\"method\":\"tools/list\"") != NULL) {
        answer(id, "{\"tools\":[{\"name\":\"read_file\",\"inputSchema\":{\"type\":\"object\"}},"
                   "{\"name\":\"write_file\",\"inputSchema\":{\"type\":\"object\"}}]}");
    } else if (strstr(line, "\"method\":\"tools/call\"") != NULL) {
        call(id, line);
    } else if (strstr(line, "\"method\":\"ping\"") != NULL) {
        answer(id, "{}");
    } else {
        (void)fprintf(stderr, "got %s", line);
    }
}

int main(int argc, char **argv)
{
    char *line = NULL;
    size_t capacity = 0;
    mode = argc > 1 ? argv[1] : "serve";
    exit_status = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 0;
    if (strcmp(mode, "stubborn") == 0) {
        (void)signal(SIGTERM, SIG_IGN);
    }
    if (strcmp(mode, "stubborn") == 0 || strcmp(mode, "deaf") == 0) {
        (void)fprintf(stderr, "waiting\n");
        wait_for_a_signal();
    }
    if (strcmp(mode, "noise") == 0) {
        (void)printf("Server \033[1mstarted\n");
    }
    while (getline(&line, &capacity, stdin) > 0) {
        take(line);
    }
    free(line);
    return 0;
}
