/* The cost of JSON: scanning and indexing one event, reading it, and writing it again.
 *
 * Baselines are memcpy of the same bytes (what relaying must cost at least) and a plain
 * UTF-8 check, one byte at a time (what any validation must do at least). */

#include <stdio.h>
#include <stdlib.h>

#include "base/base64.h"
#include "base/utf8.h"
#include "harness.h"
#include "json/json.h"

/* The usual case: a job event of 350 bytes, without white space. */
static const char event_text[] =
    "{\"arcp\":\"1.1\",\"id\":\"01JV3N6W2K8Z5Q4T7R9Y1M0BXC\",\"type\":\"job.event\","
    "\"session_id\":\"sess_01JV3N6W2K8Z5Q4T7R9Y1M0BXD\",\"job_id\":\"job_01JV3N6W2K8Z5Q4T7R9Y1M0BXE"
    "\",\"event_seq\":4711,\"payload\":{\"kind\":\"tool_call\",\"ts\":\"2026-05-13T19:42:13.123Z\","
    "\"body\":{\"tool\":\"search.web\",\"args\":{\"query\":\"lattice energy\",\"limit\":20},"
    "\"call_id\":\"call_7\",\"note\":\"second pass\"}}}";

/* The same event as people write it. */
static const char spaced_text[] =
    "{\n  \"arcp\": \"1.1\",\n  \"type\": \"job.event\",\n  \"event_seq\": 4711,\n"
    "  \"payload\": {\n    \"kind\": \"tool_call\",\n    \"ts\": \"2026-05-13T19:42:13.123Z\",\n"
    "    \"body\": {\n      \"tool\": \"search.web\",\n      \"args\": {\"limit\": 20},\n"
    "      \"note\": \"second pass over the list\"\n    }\n  }\n}\n";

static const char escaped_text[] = "\"line one\\nline two\\tand \\\"quotes\\\", a path C:\\\\temp "
                                   "and \\u00fc\\u20ac\\ud83d\\ude00\"";

typedef struct bench_text {
    arcp_json json;
    arcp_span text;
    arcp_buf out;
    char *copy; /* as long as text */
} bench_text;

static void die(const char *what)
{
    fprintf(stderr, "json_bench: %s\n", what);
    exit(1);
}

static void scan_once(bench_text *bench)
{
    const arcp_json_limits limits = arcp_json_limits_init();
    arcp_error err = {0};
    if (arcp_json_scan(&bench->json, bench->text, &limits, &err) != ARCP_OK) {
        die(err.message);
    }
}

static void bench_copy(void *state, uint64_t iterations)
{
    const bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        memcpy(bench->copy, bench->text.data, bench->text.size);
        bench_keep(bench->copy);
    }
}

/* The plainest loop that checks UTF-8: a state per byte of a character still to come. */
static size_t plain_utf8(const unsigned char *bytes, size_t size)
{
    unsigned more = 0;
    unsigned char low = 0x80;
    unsigned char high = 0xbf;
    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = bytes[i];
        if (more > 0) {
            if (byte < low || byte > high) {
                return i;
            }
            low = 0x80;
            high = 0xbf;
            more--;
        } else if (byte >= 0x80) {
            if (byte < 0xc2 || byte > 0xf4) {
                return i;
            }
            more = byte < 0xe0 ? 1 : (byte < 0xf0 ? 2 : 3);
            low = byte == 0xe0 ? 0xa0 : (byte == 0xf0 ? 0x90 : 0x80);
            high = byte == 0xed ? 0x9f : (byte == 0xf4 ? 0x8f : 0xbf);
        }
    }
    return more > 0 ? size - 1 : size;
}

static void bench_plain_utf8(void *state, uint64_t iterations)
{
    const bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        bench_keep(plain_utf8((const unsigned char *)bench->text.data, bench->text.size));
    }
}

static void bench_utf8(void *state, uint64_t iterations)
{
    const bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        bench_keep(arcp__utf8_valid_prefix(bench->text));
    }
}

static void bench_scan(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        scan_once(bench);
        bench_keep(bench->json.count);
    }
}

/* What an envelope's reader does: six members by name. */
static void bench_members(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    scan_once(bench);
    for (uint64_t i = 0; i < iterations; i++) {
        const arcp_json *json = &bench->json;
        const arcp_json_ref payload =
            arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        uint64_t sum = payload;
        sum += arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("arcp"));
        sum += arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
        sum += arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id"));
        sum += arcp_json_member(json, payload, ARCP_SPAN_LITERAL("kind"));
        sum += arcp_json_member(json, payload, ARCP_SPAN_LITERAL("body"));
        bench_keep(sum);
    }
}

static void bench_compact(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    scan_once(bench);
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        arcp_json_compact(&bench->json, ARCP_JSON_ROOT, &bench->out);
        bench_keep(bench->out.data);
    }
}

static void bench_canonical(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    scan_once(bench);
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        if (arcp_json_canonical(&bench->json, ARCP_JSON_ROOT, &bench->out, NULL) != ARCP_OK) {
            die("out of memory");
        }
        bench_keep(bench->out.data);
    }
}

static void bench_quote(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        arcp_json_quote(bench->text, &bench->out);
        bench_keep(bench->out.data);
    }
}

static void bench_unescape(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    scan_once(bench);
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        bench_keep(arcp_json_string(&bench->json, ARCP_JSON_ROOT, &bench->out).size);
    }
}

static void bench_base64_encode(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        arcp__base64_encode(bench->text, ARCP__BASE64_STANDARD, &bench->out);
        bench_keep(bench->out.data);
    }
}

static void bench_base64_decode(void *state, uint64_t iterations)
{
    bench_text *bench = state;
    for (uint64_t i = 0; i < iterations; i++) {
        arcp_buf_clear(&bench->out);
        if (arcp__base64_decode(bench->text, ARCP__BASE64_STANDARD, &bench->out, NULL) != ARCP_OK) {
            die("the bench's own base 64 is refused");
        }
        bench_keep(bench->out.data);
    }
}

static void text_init(bench_text *bench, arcp_span text)
{
    *bench = (bench_text){.json = ARCP__JSON_INIT, .text = text, .out = arcp_buf_init()};
    bench->copy = malloc(text.size);
    if (bench->copy == NULL) {
        die("out of memory");
    }
}

static void text_fini(bench_text *bench)
{
    arcp__json_fini(&bench->json);
    arcp_buf_fini(&bench->out);
    free(bench->copy);
}

/* An object of `count` members, for the cost of looking for duplicate names. */
static void make_wide(arcp_buf *out, unsigned count)
{
    arcp_buf_append_byte(out, '{');
    for (unsigned i = 0; i < count; i++) {
        arcp_buf_append_format(out, "%s\"member_%u\":%u", i == 0 ? "" : ",", i, i);
    }
    arcp_buf_append_byte(out, '}');
}

enum { EVENT, SPACED, ESCAPED, PLAIN, WIDE, WIDER, CHUNK, CHUNK_BASE64, TEXTS };

#define COPY "memcpy of the event, 350 bytes"

static bench_text texts[TEXTS];

static const bench_case cases[] = {
    {.name = COPY, .run = bench_copy, .state = &texts[EVENT]},
    {.name = "plain UTF-8 check, 350 bytes",
     .baseline = COPY,
     .run = bench_plain_utf8,
     .state = &texts[EVENT]},
    {.name = "utf8_valid_prefix, 350 bytes",
     .baseline = "plain UTF-8 check, 350 bytes",
     .run = bench_utf8,
     .state = &texts[EVENT]},
    {.name = "scan, 350 bytes",
     .baseline = "plain UTF-8 check, 350 bytes",
     .run = bench_scan,
     .state = &texts[EVENT]},
    {.name = "scan with white space", .run = bench_scan, .state = &texts[SPACED]},
    {.name = "scan 100 members",
     .run = bench_scan,
     .state = &texts[WIDE],
     .units_per_iteration = 100,
     .unit = "members/s"},
    {.name = "scan 10000 members",
     .baseline = "scan 100 members",
     .run = bench_scan,
     .state = &texts[WIDER],
     .units_per_iteration = 10000,
     .unit = "members/s"},
    {.name = "six members by name", .run = bench_members, .state = &texts[EVENT]},
    {.name = "compact, none to drop",
     .baseline = COPY,
     .run = bench_compact,
     .state = &texts[EVENT]},
    {.name = "compact, white space", .run = bench_compact, .state = &texts[SPACED]},
    {.name = "canonical, 350 bytes",
     .baseline = "scan, 350 bytes",
     .run = bench_canonical,
     .state = &texts[EVENT]},
    {.name = "quote, 52 plain bytes", .run = bench_quote, .state = &texts[PLAIN]},
    {.name = "quote, 350 bytes with quotes", .run = bench_quote, .state = &texts[EVENT]},
    {.name = "unescape, 82 bytes", .run = bench_unescape, .state = &texts[ESCAPED]},
    {.name = "memcpy of 48 KiB",
     .run = bench_copy,
     .state = &texts[CHUNK],
     .units_per_iteration = 49152,
     .unit = "B/s"},
    {.name = "base64 encode, 48 KiB",
     .baseline = "memcpy of 48 KiB",
     .run = bench_base64_encode,
     .state = &texts[CHUNK],
     .units_per_iteration = 49152,
     .unit = "B/s"},
    {.name = "base64 decode, 48 KiB",
     .baseline = "memcpy of 48 KiB",
     .run = bench_base64_decode,
     .state = &texts[CHUNK_BASE64],
     .units_per_iteration = 49152,
     .unit = "B/s"},
};

int main(int argc, char **argv)
{
    arcp_buf made[TEXTS] = {0};
    arcp_buf_append_cstr(&made[EVENT], event_text);
    arcp_buf_append_cstr(&made[SPACED], spaced_text);
    arcp_buf_append_cstr(&made[ESCAPED], escaped_text);
    arcp_buf_append_cstr(&made[PLAIN], "second pass over the list, 20 of 64 entries are done");
    make_wide(&made[WIDE], 100);
    make_wide(&made[WIDER], 10000);
    for (unsigned i = 0; i < 49152; i++) {
        arcp_buf_append_byte(&made[CHUNK], (char)(i * 197u));
    }
    arcp__base64_encode(arcp_buf_span(&made[CHUNK]), ARCP__BASE64_STANDARD, &made[CHUNK_BASE64]);
    for (size_t i = 0; i < TEXTS; i++) {
        text_init(&texts[i], arcp_buf_span(&made[i]));
    }
    const int status = bench_main(argc, argv, "JSON", cases, sizeof cases / sizeof *cases);
    for (size_t i = 0; i < TEXTS; i++) {
        text_fini(&texts[i]);
        arcp_buf_fini(&made[i]);
    }
    return status;
}
