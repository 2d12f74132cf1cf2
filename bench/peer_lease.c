/* Our side of the lease questions of `make bench-peers`; the programs of bench/peers/ answer the
 * same file.
 *
 *   arcp-bench-lease FILE MILLISECONDS
 *
 * FILE is a JSON object: `leases` is a list of {name, lease, targets}, and `subsets` of {name,
 * parent, child}. For each one line is printed, a JSON object: `name`, `ns` (of one question, the
 * lease being ready) and `yes` (how many of the questions asked once were answered yes, so that
 * answers can be compared). The capability asked for is fs.read. MILLISECONDS: how long each is
 * asked. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <arcp/lease_subset.h>

#include "harness.h"
#include "json/json.h"

#define TARGETS_MAX 64
#define FILE_MAX    ((size_t)64 << 20)

typedef struct question {
    const arcp_authority *authority;
    arcp_span targets[TARGETS_MAX];
    size_t target_count;
    const arcp_lease *parent;
    const arcp_lease *child;
} question;

static arcp_target_scratch scratch;
static int64_t patience_ns;

static void die(const char *what)
{
    (void)fprintf(stderr, "arcp-bench-lease: %s\n", what);
    exit(1);
}

static arcp_time now(void)
{
    struct timespec wall;
    (void)clock_gettime(CLOCK_REALTIME, &wall);
    return (arcp_time){(int64_t)wall.tv_sec * ARCP_NS_PER_SEC + wall.tv_nsec, bench_now_ns()};
}

/* ---- questions ---- */

/* Each question reads the clock, as a runtime has to. */
static uint64_t ask_gate(const question *q, uint64_t count)
{
    uint64_t yes = 0;
    size_t next = 0;
    for (uint64_t n = 0; n < count; n++) {
        arcp_decision decision;
        yes += arcp_authorize(q->authority, now(), ARCP_SPAN_LITERAL("fs.read"), q->targets[next],
                              &scratch, &decision);
        next = next + 1 == q->target_count ? 0 : next + 1;
    }
    return yes;
}

static uint64_t ask_subset(const question *q, uint64_t count)
{
    uint64_t yes = 0;
    for (uint64_t n = 0; n < count; n++) {
        bool is_subset = false;
        if (arcp_lease_is_subset(q->child, q->parent, &is_subset, NULL) != ARCP_OK) {
            die("out of memory");
        }
        yes += is_subset;
    }
    return yes;
}

static void measure(const char *name, const question *q,
                    uint64_t (*ask)(const question *, uint64_t), uint64_t once)
{
    const uint64_t yes = ask(q, once);
    uint64_t asked = 0;
    const int64_t began_ns = bench_now_ns();
    int64_t taken_ns = 0;
    for (uint64_t count = once; taken_ns < patience_ns; count += count / 2 + 1) {
        bench_keep(ask(q, count));
        asked += count;
        taken_ns = bench_now_ns() - began_ns;
    }
    (void)printf("{\"name\": \"%s\", \"ns\": %.2f, \"yes\": %" PRIu64 "}\n", name,
                 (double)taken_ns / (double)asked, yes);
    (void)fflush(stdout);
}

/* ---- the file ---- */

static void read_file(const char *path, arcp_buf *out)
{
    char room[65536];
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL) {
        die(path);
    }
    while ((size = fread(room, 1, sizeof room, file)) > 0 && out->size < FILE_MAX) {
        arcp_buf_append(out, arcp_span_make(room, size));
    }
    if (ferror(file) || out->failed || fclose(file) != 0) {
        die(path);
    }
}

static arcp_json_ref member(const arcp_json *json, arcp_json_ref object, const char *name)
{
    return arcp_json_member(json, object, arcp_span_cstr(name));
}

static arcp_lease *lease_of(const arcp_json *json, arcp_json_ref object)
{
    const arcp_lease_limits limits = {sizeof limits, 100000, FILE_MAX, 4096, 32};
    arcp_lease *lease = NULL;
    arcp_error error = {0};
    if (arcp_lease_parse(arcp_json_raw(json, object), arcp_span_make(NULL, 0), &limits, &lease,
                         &error) != ARCP_OK) {
        die(error.message);
    }
    return lease;
}

static void name_of(const arcp_json *json, arcp_json_ref object, char out[64])
{
    arcp_buf room = arcp_buf_init();
    const arcp_span text = arcp_json_string(json, member(json, object, "name"), &room);
    (void)snprintf(out, 64, "%.*s", (int)text.size, text.data);
    arcp_buf_fini(&room);
}

static void measure_lease(const arcp_json *json, arcp_json_ref row)
{
    char name[64];
    question q = {0};
    arcp_buf rooms[TARGETS_MAX] = {0};
    const arcp_lease *lease = lease_of(json, member(json, row, "lease"));
    arcp_authority_options options = arcp_authority_options_init();
    arcp_authority *authority = NULL;
    arcp_error error = {0};
    options.now = now();
    if (arcp_authority_new(lease, &options, &authority, &error) != ARCP_OK) {
        die(error.message);
    }
    const arcp_json_ref targets = member(json, row, "targets");
    for (arcp_json_ref item = arcp_json_first(json, targets);
         item != ARCP_JSON_ABSENT && q.target_count < TARGETS_MAX;
         item = arcp_json_next(json, targets, item)) {
        q.targets[q.target_count] = arcp_json_string(json, item, &rooms[q.target_count]);
        q.target_count++;
    }
    if (q.target_count == 0) {
        die("a lease without targets");
    }
    q.authority = authority;
    name_of(json, row, name);
    measure(name, &q, ask_gate, q.target_count);
    for (size_t i = 0; i < TARGETS_MAX; i++) {
        arcp_buf_fini(&rooms[i]);
    }
    arcp_authority_unref(authority);
    arcp_lease_unref(lease);
}

static void measure_subset(const arcp_json *json, arcp_json_ref row)
{
    char name[64];
    const arcp_lease *parent = lease_of(json, member(json, row, "parent"));
    const arcp_lease *child = lease_of(json, member(json, row, "child"));
    question q = {.parent = parent, .child = child};
    name_of(json, row, name);
    measure(name, &q, ask_subset, 1);
    arcp_lease_unref(child);
    arcp_lease_unref(parent);
}

int main(int argc, char **argv)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_buf text = arcp_buf_init();
    arcp_error error = {0};
    if (argc != 3 || (patience_ns = strtol(argv[2], NULL, 10) * ARCP_NS_PER_MS) <= 0) {
        (void)fputs("usage: arcp-bench-lease FILE MILLISECONDS\n", stderr);
        return 2;
    }
    read_file(argv[1], &text);
    if (arcp_json_scan(&json, arcp_buf_span(&text), &limits, &error) != ARCP_OK) {
        die(error.message);
    }
    arcp_json_ref rows = member(&json, ARCP_JSON_ROOT, "leases");
    for (arcp_json_ref item = arcp_json_first(&json, rows); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(&json, rows, item)) {
        measure_lease(&json, item);
    }
    rows = member(&json, ARCP_JSON_ROOT, "subsets");
    for (arcp_json_ref item = arcp_json_first(&json, rows); item != ARCP_JSON_ABSENT;
         item = arcp_json_next(&json, rows, item)) {
        measure_subset(&json, item);
    }
    arcp__json_fini(&json);
    arcp_buf_fini(&text);
    return 0;
}
