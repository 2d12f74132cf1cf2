/* The agent of the load tests. Its input has the form
 *
 *   {"events": N, "bytes": B, "pause_us": P, "end": "result" | "error" | "exit" | "wait",
 *    "start": PATH}
 *
 * If PATH is given, it waits until that file exists. Then it writes N log events of B bytes,
 * numbered from 0, with a pause of P microseconds after each, and ends as `end` says; with "wait"
 * it does not end by itself. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json.h"

#define BYTES_MAX 65536u

typedef struct orders {
    uint64_t events, bytes, pause_us;
    char end[16];
    char start[256];
} orders;

static uint64_t number(const arcp_json *json, arcp_json_ref input, const char *name)
{
    uint64_t value = 0;
    (void)arcp_json_u64(json, arcp_json_member(json, input, arcp_span_cstr(name)), &value);
    return value;
}

static void text(const arcp_json *json, arcp_json_ref input, const char *name, char *to,
                 size_t size)
{
    arcp_buf scratch = arcp_buf_init();
    const arcp_span found =
        arcp_json_string(json, arcp_json_member(json, input, arcp_span_cstr(name)), &scratch);
    (void)snprintf(to, size, "%.*s", (int)found.size, found.size == 0 ? "" : found.data);
    arcp_buf_fini(&scratch);
}

static int read_orders(orders *out)
{
    static char line[1u << 20];
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = {64, 10000, 1000000};
    if (fgets(line, sizeof line, stdin) == NULL ||
        arcp_json_scan(&json, arcp_span_cstr(line), &limits, NULL) != ARCP_OK) {
        return 65;
    }
    const arcp_json_ref payload =
        arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
    const arcp_json_ref input = arcp_json_member(&json, payload, ARCP_SPAN_LITERAL("input"));
    out->events = number(&json, input, "events");
    out->bytes = number(&json, input, "bytes");
    out->pause_us = number(&json, input, "pause_us");
    text(&json, input, "end", out->end, sizeof out->end);
    text(&json, input, "start", out->start, sizeof out->start);
    arcp__json_fini(&json);
    return out->bytes > BYTES_MAX ? 66 : 0;
}

int main(void)
{
    static char filling[BYTES_MAX + 1];
    static char block[262144];
    orders todo = {0};
    const int status = read_orders(&todo);
    if (status != 0) {
        return status;
    }
    memset(filling, 'x', todo.bytes);
    while (todo.start[0] != '\0' && access(todo.start, F_OK) != 0) {
        (void)usleep(1000);
    }
    (void)setvbuf(stdout, block, _IOFBF, sizeof block);
    for (uint64_t i = 0; i < todo.events; i++) {
        (void)printf("{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
                     "\"info\",\"message\":\"%llu %s\"}}}\n",
                     (unsigned long long)i, filling);
        if (todo.pause_us != 0) {
            (void)fflush(stdout);
            (void)usleep((useconds_t)todo.pause_us);
        }
    }
    if (strcmp(todo.end, "error") == 0) {
        (void)puts(
            "{\"type\":\"job.error\",\"payload\":{\"code\":\"TIMEOUT\",\"message\":\"as it was "
            "told\"}}");
    } else if (strcmp(todo.end, "result") == 0) {
        (void)printf("{\"type\":\"job.result\",\"payload\":{\"result\":%llu}}\n",
                     (unsigned long long)todo.events);
    }
    (void)fflush(stdout);
    /* Until it is cancelled, or arcpd has exited. */
    while (strcmp(todo.end, "wait") == 0 && fgets(filling, sizeof filling, stdin) != NULL &&
           strstr(filling, "\"job.cancel\"") == NULL) {
    }
    return strcmp(todo.end, "exit") == 0 ? 3 : 0;
}
