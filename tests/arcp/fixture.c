#include "arcp/fixture.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static const char *const agents[] = {"hello", "events", "count",    "stream", "wait",     "fail",
                                     "crash", "echo",   "progress", "parent", "stubborn", "family"};
#define AGENT_COUNT (sizeof agents / sizeof agents[0])

/* No test waits half a minute for an agent to end. */
static const char config[] = "jobs: {cancel_grace_ms: 2000}\nshutdown: {grace_sec: 3}\n";

void fixture_start_daemon(fixture *f, const char *store, unsigned port)
{
    char options[AGENT_COUNT][512];
    const char *words[5 + 2 * AGENT_COUNT] = {"--store", store};
    size_t count = 2;
    for (size_t agent = 0; agent < AGENT_COUNT; agent++) {
        snprintf(options[agent], sizeof options[agent], "%s%s=sh %s/tests/arcp/agents/%s.sh",
                 agents[agent], agent == 0 ? "@1.0.0" : "", ARCP_SOURCE_DIR, agents[agent]);
        words[count++] = "--agent";
        words[count++] = options[agent];
    }
    words[count++] = "--agent";
    words[count++] = "bench=" ARCP_BINARY_DIR "/bin/arcp-bench-agent";
    words[count] = NULL;
    arcpd_run_configure(f, config);
    arcpd_run_start(f, port, words);
    assert_int_equal(setenv("ARCP_URL", f->url, 1), 0);
}

static void begin(void **state, bool is_durable, bool is_confined)
{
    static fixture f;
    char store[96];
    arcpd_run_begin(&f);
    f.is_bare = !is_confined;
    snprintf(store, sizeof store, "sqlite:%s/arcp.db", f.directory);
    fixture_start_daemon(&f, is_durable ? store : "memory:", 0);
    *state = &f;
}

int fixture_begin(void **state)
{
    begin(state, false, true);
    return 0;
}

int fixture_begin_bare(void **state)
{
    begin(state, false, false);
    return 0;
}

int fixture_begin_durable(void **state)
{
    begin(state, true, true);
    return 0;
}

int fixture_end(void **state)
{
    return arcpd_run_end(*state);
}

static void put_program_first(const char *const *words, const char *out[17])
{
    size_t count = 0;
    out[0] = ARCP_BINARY_DIR "/bin/arcp";
    for (; words[count] != NULL; count++) {
        assert_true(count < 15);
        out[count + 1] = words[count];
    }
    out[count + 1] = NULL;
}

void fixture_start_with(const fixture *f, process *p, const char *const *words,
                        const char *const *environment, const char *input)
{
    const char *all[17];
    put_program_first(words, all);
    process_start(p, all, environment, input);
}

void fixture_start(const fixture *f, process *p, const char *const *words)
{
    fixture_start_with(f, p, words, NULL, NULL);
}

void fixture_start_on_terminal(const fixture *f, process *p, const char *const *words,
                               const char *const *environment, unsigned columns)
{
    const char *all[17];
    put_program_first(words, all);
    process_start_on_terminal(p, all, environment, columns);
}

void fixture_run(const fixture *f, process *p, int exit_status, const char *const *words)
{
    fixture_start(f, p, words);
    const int got = process_finish(p);
    if (got != exit_status) {
        fail_msg("exit status %d, want %d:\n%.*s\n%.*s", got, exit_status, (int)p->out.size,
                 p->out.size ? p->out.data : "", (int)p->err.size, p->err.size ? p->err.data : "");
    }
}

/* ---- comparing ---- */

static bool is_ulid(const char *text, size_t size)
{
    for (size_t i = 0; i < 26; i++) {
        if (i >= size || !(isupper((unsigned char)text[i]) || isdigit((unsigned char)text[i]))) {
            return false;
        }
    }
    return true;
}

/* 2026-01-01T00:00:00.000Z */
static bool is_time(const char *text, size_t size)
{
    static const char shape[] = "9999-99-99T99:99:99.999Z";
    for (size_t i = 0; shape[i] != '\0'; i++) {
        if (i >= size ||
            (shape[i] == '9' ? !isdigit((unsigned char)text[i]) : text[i] != shape[i])) {
            return false;
        }
    }
    return true;
}

static bool is_hex(const char *text, size_t size, size_t digits)
{
    for (size_t i = 0; i < digits; i++) {
        if (i >= size || !isxdigit((unsigned char)text[i])) {
            return false;
        }
    }
    return size > digits && !isxdigit((unsigned char)text[digits]);
}

/* The size of the id or time at the start, if any, and its replacement. */
static size_t changing(const char *text, size_t size, const char **mask)
{
    static const char *const prefixes[] = {"job_", "msg_", "res_"};
    static const char *const masks[] = {"job_...", "msg_...", "res_..."};
    for (size_t row = 0; row < 3; row++) {
        if (size >= 30 && memcmp(text, prefixes[row], 4) == 0 && is_ulid(text + 4, size - 4)) {
            *mask = masks[row];
            return 30;
        }
    }
    if (is_time(text, size)) {
        *mask = "TIME";
        return 24;
    }
    *mask = "TRACE";
    return is_hex(text, size, 32) ? 32 : 0;
}

void fixture_mask(const arcp_buf *text, arcp_buf *out)
{
    size_t i = 0;
    while (i < text->size) {
        const char *mask = NULL;
        const size_t size = changing(text->data + i, text->size - i, &mask);
        if (size != 0) {
            arcp_buf_append_cstr(out, mask);
            i += size;
        } else {
            arcp_buf_append_byte(out, text->data[i++]);
        }
    }
}

static void check_masked(const arcp_buf *got, const char *text)
{
    arcp_buf masked = arcp_buf_init();
    fixture_mask(got, &masked);
    if (!arcp_span_equal_cstr(arcp_buf_span(&masked), text)) {
        fail_msg("got:\n%.*swant:\n%s", (int)masked.size, masked.size ? masked.data : "", text);
    }
    arcp_buf_fini(&masked);
}

void check_output(const process *p, const char *text)
{
    check_masked(&p->out, text);
}

void check_errors(const process *p, const char *text)
{
    check_masked(&p->err, text);
}

void check_stream(const char *bytes, size_t size)
{
    assert_int_equal(size, 300000);
    for (size_t i = 0; i < size; i++) {
        if (bytes[i] != 'a' + (char)(i / 1000 % 26)) {
            fail_msg("byte %zu is %c", i, bytes[i]);
        }
    }
}
