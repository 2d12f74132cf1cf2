/* The agent of the crash test of workers. It does one thing in rounds 0, 1, 2, ... until a file
 * exists:
 *
 *   {"kind": "lines" | "spend" | "authorize" | "delegate" | "stream", "pause_us": P, "finish":
 * PATH}
 *
 * checks the reply, and says the number of the round. Its result is the number of rounds. An answer
 * that is wrong, or comes twice, ends it with an error. The agent "child" of a delegation has a
 * number as input, which is its result. With the argument `plain` it is a program of mode plain: it
 * writes the numbers to both outputs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/json.h"

/* Of the lease's budget, in cents; each round of `spend` costs one. */
#define BUDGET_CENTS 100000000ull

static char line[1u << 20];
static arcp_json json = ARCP__JSON_INIT;

typedef struct orders {
    char kind[16];
    char finish[256];
    uint64_t pause_us;
} orders;

/* Ends the job. */
static void fail(const char *what)
{
    (void)printf(
        "{\"type\":\"job.error\",\"payload\":{\"code\":\"INTERNAL_ERROR\",\"message\":\"%s\"}}\n",
        what);
    (void)fflush(stdout);
    exit(1);
}

static void read_line(void)
{
    const arcp_json_limits limits = {64, 10000, 1000000};
    if (fgets(line, sizeof line, stdin) == NULL ||
        arcp_json_scan(&json, arcp_span_cstr(line), &limits, NULL) != ARCP_OK) {
        fail("its input has ended");
    }
}

static arcp_json_ref member(arcp_json_ref of, const char *name)
{
    return arcp_json_member(&json, of, arcp_span_cstr(name));
}

static void copy_text(arcp_json_ref of, char *to, size_t size)
{
    arcp_buf scratch = arcp_buf_init();
    const arcp_span text = arcp_json_string(&json, of, &scratch);
    (void)snprintf(to, size, "%.*s", (int)text.size, text.size == 0 ? "" : text.data);
    arcp_buf_fini(&scratch);
}

static void take_orders(arcp_json_ref input, orders *out)
{
    copy_text(member(input, "kind"), out->kind, sizeof out->kind);
    copy_text(member(input, "finish"), out->finish, sizeof out->finish);
    (void)arcp_json_u64(&json, member(input, "pause_us"), &out->pause_us);
}

/* The payload of the reply to the request of a round. */
static arcp_json_ref reply_to(uint64_t round)
{
    char re[32];
    char wanted[32];
    read_line();
    (void)snprintf(wanted, sizeof wanted, "r%llu", (unsigned long long)round);
    copy_text(member(ARCP_JSON_ROOT, "re"), re, sizeof re);
    if (strcmp(re, wanted) != 0) {
        fail("it has got another line than the reply that it waits for");
    }
    return member(ARCP_JSON_ROOT, "payload");
}

static void request(const char *type, uint64_t round, const char *payload)
{
    (void)printf("{\"type\":\"%s\",\"id\":\"r%llu\",\"payload\":%s}\n", type,
                 (unsigned long long)round, payload);
    (void)fflush(stdout);
}

/* ---- one round of each kind ---- */

static void spend(uint64_t round)
{
    char left[48];
    char wanted[48];
    const unsigned long long cents = BUDGET_CENTS - round - 1;
    request(
        "job.event", round,
        "{\"kind\":\"metric\",\"body\":{\"name\":\"cost.work\",\"value\":0.01,\"unit\":\"USD\"}}");
    const arcp_json_ref budget = member(reply_to(round), "budget");
    const arcp_span raw = arcp_json_raw(&json, member(budget, "USD"));
    (void)snprintf(left, sizeof left, "%.*s", (int)raw.size, raw.size == 0 ? "" : raw.data);
    (void)snprintf(wanted, sizeof wanted, "%llu.%02llu", cents / 100, cents % 100);
    if (strtod(left, NULL) != strtod(wanted, NULL)) {
        fail("its budget is not exact");
    }
}

static void authorize(uint64_t round)
{
    char code[48];
    const bool is_allowed = round % 2 == 0;
    request("authorize", round,
            is_allowed ? "{\"capability\":\"tool.call\",\"target\":\"allowed\"}"
                       : "{\"capability\":\"tool.call\",\"target\":\"denied\"}");
    const arcp_json_ref payload = reply_to(round);
    copy_text(member(member(payload, "error"), "code"), code, sizeof code);
    if (strcmp(code, is_allowed ? "" : "PERMISSION_DENIED") != 0) {
        fail("the gate has decided otherwise");
    }
}

static void delegate(uint64_t round)
{
    char payload[160];
    char status[32];
    uint64_t result = 0;
    (void)snprintf(payload, sizeof payload,
                   "{\"delegate_id\":\"d%llu\",\"agent\":\"child\",\"input\":%llu,\"wait\":true,"
                   "\"lease_request\":{}}",
                   (unsigned long long)round, (unsigned long long)round);
    request("delegate", round, payload);
    const arcp_json_ref reply = reply_to(round);
    copy_text(member(reply, "final_status"), status, sizeof status);
    if (strcmp(status, "success") != 0 || !arcp_json_u64(&json, member(reply, "result"), &result) ||
        result != round) {
        fail("its child has not ended as it should");
    }
}

static void stream(uint64_t round)
{
    (void)printf(
        "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"%llu\\n\",\"encoding\":\"utf8\","
        "\"more\":true}}\n",
        (unsigned long long)round);
}

static void do_round(const orders *todo, uint64_t round)
{
    static const struct {
        const char *kind;
        void (*act)(uint64_t round);
    } rows[] = {
        {"spend", spend}, {"authorize", authorize}, {"delegate", delegate}, {"stream", stream}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (strcmp(todo->kind, rows[i].kind) == 0) {
            rows[i].act(round);
        }
    }
    (void)printf(
        "{\"type\":\"job.event\",\"payload\":{\"kind\":\"log\",\"body\":{\"level\":\"info\","
        "\"message\":\"%llu\"}}}\n",
        (unsigned long long)round);
    (void)fflush(stdout);
}

static void do_plain(const orders *todo, uint64_t round)
{
    (void)printf("%llu\n", (unsigned long long)round);
    (void)fflush(stdout);
    (void)fprintf(stderr, "%llu\n", (unsigned long long)round);
}

int main(int argc, char **argv)
{
    const bool is_plain = argc > 1 && strcmp(argv[1], "plain") == 0;
    orders todo = {.kind = ""};
    uint64_t round = 0;
    read_line();
    const arcp_json_ref input =
        is_plain ? ARCP_JSON_ROOT : member(member(ARCP_JSON_ROOT, "payload"), "input");
    if (arcp_json_u64(&json, input, &round)) { /* a child */
        (void)printf("{\"type\":\"job.result\",\"payload\":{\"result\":%llu}}\n",
                     (unsigned long long)round);
        return 0;
    }
    take_orders(input, &todo);
    while (access(todo.finish, F_OK) != 0) {
        (is_plain ? do_plain : do_round)(&todo, round++);
        (void)usleep((useconds_t)todo.pause_us);
    }
    if (strcmp(todo.kind, "stream") == 0) {
        (void)puts(
            "{\"type\":\"result.chunk\",\"payload\":{\"data\":\"\",\"encoding\":\"utf8\",\"more\":"
            "false}}");
        (void)puts("{\"type\":\"job.result\",\"payload\":{}}");
    } else if (!is_plain) {
        (void)printf("{\"type\":\"job.result\",\"payload\":{\"result\":%llu}}\n",
                     (unsigned long long)round);
    }
    (void)fflush(stdout);
    return 0;
}
