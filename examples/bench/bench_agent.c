/* The agent of `arcp bench` (arcp-agent(7)): its input says what it sends and how it ends. All of
 * its output is predictable, so that the receiver can check it.
 *
 *   events        log events, numbered from 0: "N ......" (default 0)
 *   event_bytes   bytes of each event's message (default 64)
 *   result_bytes  a streamed result of this size: records of 32 bytes, each with its own offset in
 *                 31 digits and a full stop; the last one is cut (default 0: no stream)
 *   chunk_bytes   bytes of each piece of the stream (default 262144)
 *   result        the result when nothing is streamed (default: the number of events)
 *   error         the code of an error to end with instead
 *   exit          the status to exit with instead, without a final line */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <arcp/json.h>

#define RECORD_BYTES    ((size_t)32)
#define CHUNK_BYTES_MAX 1000000
#define EVENT_BYTES_MAX 1000000

typedef struct plan {
    uint64_t events, event_bytes, result_bytes, chunk_bytes, exit_status;
    arcp_span result; /* JSON; empty: not given */
    arcp_span error;
} plan;

static arcp_json_ref member(const arcp_json *json, arcp_json_ref object, const char *name)
{
    return arcp_json_member(json, object, arcp_span_cstr(name));
}

static void read_number(const arcp_json *json, arcp_json_ref input, const char *name, uint64_t max,
                        uint64_t *out)
{
    uint64_t value = 0;
    if (arcp_json_u64(json, member(json, input, name), &value)) {
        *out = value < max ? value : max;
    }
}

/* Reads the first line, job.start; false at the end of input. */
static bool read_plan(arcp_json *json, plan *out)
{
    static char *line; /* the plan points into it; never freed */
    size_t capacity = 0;
    const ssize_t size = getline(&line, &capacity, stdin);
    if (size <= 0 ||
        arcp_json_scan(json, arcp_span_make(line, (size_t)size), NULL, NULL) != ARCP_OK) {
        return false;
    }
    const arcp_json_ref input = member(json, member(json, ARCP_JSON_ROOT, "payload"), "input");
    *out = (plan){.event_bytes = 64, .chunk_bytes = 262144};
    read_number(json, input, "events", UINT64_MAX, &out->events);
    read_number(json, input, "event_bytes", EVENT_BYTES_MAX, &out->event_bytes);
    read_number(json, input, "result_bytes", UINT64_MAX, &out->result_bytes);
    read_number(json, input, "chunk_bytes", CHUNK_BYTES_MAX, &out->chunk_bytes);
    read_number(json, input, "exit", 255, &out->exit_status);
    out->chunk_bytes = out->chunk_bytes != 0 ? out->chunk_bytes : 1;
    out->result = arcp_json_raw(json, member(json, input, "result"));
    out->error = arcp_json_raw(json, member(json, input, "error"));
    return true;
}

static void say_events(const plan *p)
{
    char *padding = malloc(p->event_bytes + 1);
    if (padding == NULL) {
        exit(1);
    }
    memset(padding, '.', p->event_bytes);
    padding[p->event_bytes] = '\0';
    for (uint64_t i = 0; i < p->events; i++) {
        char number[24];
        const size_t size = (size_t)snprintf(number, sizeof number, "%" PRIu64 " ", i);
        const size_t skip = size < p->event_bytes ? size : (size_t)p->event_bytes;
        (void)printf("{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":"
                     "\"info\",\"message\":\"%s%s\"}}}\n",
                     number, padding + skip);
    }
    free(padding);
}

/* The record at `offset`, which is a multiple of its size. */
static void write_record(uint64_t offset, char *out)
{
    for (size_t digit = RECORD_BYTES - 1; digit-- > 0;) {
        out[digit] = (char)('0' + offset % 10);
        offset /= 10;
    }
    out[RECORD_BYTES - 1] = '.';
}

static void say_chunk(const plan *p, uint64_t from, char *room)
{
    uint64_t size = p->result_bytes - from;
    size = size < p->chunk_bytes ? size : p->chunk_bytes;
    const uint64_t first = from - from % RECORD_BYTES;
    for (uint64_t offset = first; offset < from + size; offset += RECORD_BYTES) {
        write_record(offset, room + (offset - first));
    }
    (void)fputs("{\"type\":\"result.chunk\",\"payload\":{\"encoding\":\"utf8\",\"data\":\"",
                stdout);
    (void)fwrite(room + (from - first), 1, size, stdout);
    (void)printf("\",\"more\":%s}}\n", from + size < p->result_bytes ? "true" : "false");
}

static void say_stream(const plan *p)
{
    char *room = malloc(p->chunk_bytes + 2 * RECORD_BYTES);
    if (room == NULL) {
        exit(1);
    }
    for (uint64_t offset = 0; offset < p->result_bytes; offset += p->chunk_bytes) {
        say_chunk(p, offset, room);
    }
    free(room);
}

static void say_end(const plan *p)
{
    if (p->error.size != 0) {
        (void)printf("{\"type\":\"job.error\",\"payload\":{\"code\":%.*s,\"message\":\"as asked\"}}"
                     "\n",
                     (int)p->error.size, p->error.data);
    } else if (p->result_bytes != 0) {
        (void)puts("{\"type\":\"job.result\",\"payload\":{}}");
    } else if (p->result.size != 0) {
        (void)printf("{\"type\":\"job.result\",\"payload\":{\"result\":%.*s}}\n",
                     (int)p->result.size, p->result.data);
    } else {
        (void)printf("{\"type\":\"job.result\",\"payload\":{\"result\":%" PRIu64 "}}\n", p->events);
    }
}

int main(void)
{
    static char output[65536];
    arcp_json *json = arcp_json_new();
    plan p;
    (void)setvbuf(stdout, output, _IOFBF, sizeof output);
    if (json == NULL || !read_plan(json, &p)) {
        return 1;
    }
    say_events(&p);
    say_stream(&p);
    if (p.exit_status == 0) {
        say_end(&p);
    }
    arcp_json_free(json);
    return fflush(stdout) == 0 ? (int)p.exit_status : 1;
}
