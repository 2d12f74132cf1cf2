/* `arcp audit verify FILE...` and `arcp audit grep FILE...` read arcpd's audit log without a
 * runtime. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "audit/audit_check.h"
#include "cli/cli.h"
#include "core/audit_event.h"
#include "json/json.h"
#include "json/json_put.h"

/* The chain is broken: the same status as for a denial by a lease. */
#define EXIT_BROKEN 4

/* ---- files ---- */

typedef arcp_status (*piece_fn)(void *user, arcp_span bytes, arcp_error *err);

/* `-` is standard input. */
static arcp_status read_file(const char *name, piece_fn piece, void *user, arcp_error *err)
{
    static char bytes[1 << 16];
    const bool is_stdin = strcmp(name, "-") == 0;
    const int fd = is_stdin ? STDIN_FILENO : open(name, O_RDONLY | O_CLOEXEC);
    arcp_status status = ARCP_OK;
    ssize_t got = 1;
    if (fd < 0) {
        return arcp_error_set(err, ARCP_E_IO, "%s cannot be opened: %s", name, strerror(errno));
    }
    while (got != 0 && status == ARCP_OK) {
        got = read(fd, bytes, sizeof bytes);
        if (got > 0) {
            status = piece(user, arcp_span_make(bytes, (size_t)got), err);
        } else if (got < 0 && errno != EINTR) {
            status = arcp_error_set(err, ARCP_E_IO, "%s cannot be read: %s",
                                    is_stdin ? "standard input" : name, strerror(errno));
        }
    }
    if (!is_stdin) {
        (void)close(fd);
    }
    return status;
}

/* ---- verify ---- */

typedef struct verification {
    arcp__program *program;
    arcp__audit_check check;
    bool printed;
} verification;

static void on_finding(void *user, const arcp__audit_finding *finding)
{
    verification *v = user;
    const char *problem = arcp__audit_problem_name(finding->problem);
    arcp_buf line = arcp_buf_init();
    if (!v->printed) {
        return;
    }
    if (v->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp__put_cstr(&writer, "file", finding->file);
        arcp__put_u64(&writer, "line", finding->line);
        if (finding->seq != 0) {
            arcp__put_u64(&writer, "seq", finding->seq);
        }
        arcp__put_cstr(&writer, "problem", problem);
        arcp__put_cstr(&writer, "message", finding->message);
        arcp_json_end_object(&writer);
    } else {
        arcp__append_safe(&line, arcp_span_cstr(finding->file), 1024);
        arcp_buf_append_format(&line, ":%llu: %s: %s", (unsigned long long)finding->line, problem,
                               finding->message);
    }
    v->printed = arcp__program_print_buf_line(v->program, &line);
}

static arcp_status feed(void *user, arcp_span bytes, arcp_error *err)
{
    verification *v = user;
    return arcp__audit_check_feed(&v->check, bytes, err);
}

static void format_summary(const arcp__audit_check *check, bool is_json, arcp_buf *out)
{
    if (is_json) {
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_bool(&writer, "whole", check->problems == 0);
        arcp__put_u64(&writer, "problems", check->problems);
        arcp__put_u64(&writer, "lines", check->lines);
        arcp__put_u64(&writer, "torn", check->torn);
        arcp__put_u64(&writer, "first_seq", check->first.seq);
        arcp__put_u64(&writer, "last_seq", check->head.seq);
        arcp__put_string(&writer, "head",
                         arcp_span_make(check->head.hash, sizeof check->head.hash));
        arcp__put_bool(&writer, "closed", check->is_closed);
        arcp_json_end_object(&writer);
        return;
    }
    arcp_buf_append_format(out, "%s: %" PRIu64 " line%s",
                           check->problems == 0 ? "whole" : "NOT WHOLE", check->lines,
                           check->lines == 1 ? "" : "s");
    if (check->problems != 0) {
        arcp_buf_append_format(out, ", %" PRIu64 " problem%s", check->problems,
                               check->problems == 1 ? "" : "s");
    }
    if (check->torn != 0) {
        arcp_buf_append_format(out, ", %" PRIu64 " torn by a crash and noted by the runtime",
                               check->torn);
    }
    if (check->lines != 0) {
        arcp_buf_append_format(out, "; number %" PRIu64 " to %" PRIu64 "%s\nhead %" PRIu64 ":%.*s",
                               check->first.seq, check->head.seq,
                               check->is_closed ? ", closed" : "", check->head.seq,
                               ARCP__AUDIT_HASH_SIZE, check->head.hash);
    }
}

/* SEQ:HASH. */
static arcp_status read_head(const char *text, arcp__audit_check *check, arcp_error *err)
{
    arcp__audit_line_view view;
    arcp_buf line = arcp_buf_init();
    const char *colon = strchr(text, ':');
    const size_t digits = colon == NULL ? 0 : (size_t)(colon - text);
    /* Spelled as the end of an audit line, so that the same function reads it. */
    arcp_buf_append_format(&line, "{\"seq\":%.*s,\"hash\":\"%s\"}", (int)digits, text,
                           colon == NULL ? "" : colon + 1);
    const bool valid = !line.failed && line.size > ARCP__AUDIT_TAIL_SIZE &&
                       arcp__audit_line_read(arcp_buf_span(&line), &view);
    if (valid) {
        check->wanted.seq = view.seq;
        memcpy(check->wanted.hash, view.hash.data, sizeof check->wanted.hash);
    }
    arcp_buf_fini(&line);
    return valid ? ARCP_OK
                 : arcp_error_set(err, ARCP_E_USAGE,
                                  "--head %s must be SEQ:HASH as verify prints it: a number and "
                                  "64 digits of 0-9a-f",
                                  text);
}

static int verify(arcp__program *program)
{
    const arcp__arguments *arguments = &program->arguments;
    const char *head = arcp__value(arguments, ARCP__OPTION_AUDIT_HEAD);
    verification v = {.program = program, .printed = true};
    arcp_error err = {0};
    arcp__audit_check_init(&v.check, on_finding, &v);
    arcp_status status = head == NULL ? ARCP_OK : read_head(head, &v.check, &err);
    if (status != ARCP_OK) {
        arcp__audit_check_fini(&v.check);
        return arcp__program_usage(program, &err);
    }
    for (size_t i = 1; i < arguments->word_count && status == ARCP_OK; i++) {
        arcp__audit_check_begin(&v.check, arguments->words[i]);
        status = read_file(arguments->words[i], feed, &v, &err);
        if (status == ARCP_OK) {
            arcp__audit_check_end(&v.check);
        }
    }
    int exit_status = ARCP__EXIT_ERROR;
    if (status != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else {
        arcp_buf text = arcp_buf_init();
        arcp__audit_check_finish(&v.check);
        format_summary(&v.check, program->is_json, &text);
        if (v.printed && arcp__program_print_buf_line(program, &text)) {
            exit_status = v.check.problems == 0 ? ARCP__EXIT_SUCCESS : EXIT_BROKEN;
        }
        arcp_buf_fini(&text);
    }
    arcp__audit_check_fini(&v.check);
    return exit_status;
}

/* ---- grep ---- */

typedef struct search {
    arcp__program *program;
    const char *principal, *job, *code, *capability;
    uint32_t events; /* one bit per event; 0: all */
    bool has_since;
    arcp__instant since;
    bool has_print_failed; /* and the error has been printed */
    arcp_buf partial;      /* an incomplete line */
    arcp_json json;
    arcp_buf scratch, line;
} search;

static arcp_status read_filters(const arcp__arguments *arguments, search *s, arcp_error *err)
{
    const char *since = arcp__value(arguments, ARCP__OPTION_AUDIT_SINCE);
    char room[ARCP__TIMESTAMP_SIZE];
    arcp_span text;
    s->principal = arcp__value(arguments, ARCP__OPTION_AUDIT_PRINCIPAL);
    s->job = arcp__value(arguments, ARCP__OPTION_AUDIT_JOB);
    s->code = arcp__value(arguments, ARCP__OPTION_AUDIT_CODE);
    s->capability = arcp__value(arguments, ARCP__OPTION_AUDIT_CAPABILITY);
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_AUDIT_EVENT]; i++) {
        const char *word = arguments->values[ARCP__OPTION_AUDIT_EVENT][i];
        const arcp__audit_event event = arcp__audit_event_from_name(arcp_span_cstr(word));
        if (event == ARCP__AUDIT_EVENT_COUNT) {
            return arcp_error_set(err, ARCP_E_USAGE, "--event: '%s' is not one of %s", word,
                                  arcp__options[ARCP__OPTION_AUDIT_EVENT].completes);
        }
        s->events |= UINT32_C(1) << event;
    }
    s->has_since = since != NULL;
    if (since == NULL) {
        return ARCP_OK;
    }
    arcp_status status =
        arcp__instant_text("since", since, -1, arcp__now_wall_ns(), room, &text, err);
    if (status == ARCP_OK) {
        status = arcp__timestamp_parse(text, &s->since, err);
        s->since.rest = arcp_span_make(NULL, 0); /* it points into `room` */
    }
    return status;
}

static arcp_span member(search *s, const char *name)
{
    return arcp_json_string(
        &s->json, arcp_json_member(&s->json, ARCP_JSON_ROOT, arcp_span_cstr(name)), &s->scratch);
}

static bool is_member(search *s, const char *name, const char *wanted)
{
    return wanted == NULL || arcp_span_equal_cstr(member(s, name), wanted);
}

static bool matches(search *s)
{
    const arcp__audit_event event = arcp__audit_event_from_name(member(s, "event"));
    arcp__instant when;
    if (s->events != 0 &&
        (event == ARCP__AUDIT_EVENT_COUNT || (s->events & (UINT32_C(1) << event)) == 0)) {
        return false;
    }
    if (s->has_since && (arcp__timestamp_parse(member(s, "ts"), &when, NULL) != ARCP_OK ||
                         arcp__instant_compare(when, s->since) < 0)) {
        return false;
    }
    return is_member(s, "principal", s->principal) &&
           (is_member(s, "job_id", s->job) || is_member(s, "parent_job_id", s->job)) &&
           is_member(s, "code", s->code) && is_member(s, "capability", s->capability);
}

/* The most important members, in the order of the file; --json prints the whole line. */
static void format_line(search *s)
{
    static const char *const columns[] = {"ts", "event", "decision"};
    static const char *const named[] = {"principal",  "job_id", "parent_job_id", "agent", "code",
                                        "capability", "target", "rule",          "reason"};
    for (size_t i = 0; i < sizeof columns / sizeof columns[0]; i++) {
        arcp_buf_append_cstr(&s->line, i == 0 ? "" : " ");
        arcp__append_safe(&s->line, member(s, columns[i]), 40);
    }
    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++) {
        const arcp_span text = member(s, named[i]);
        if (text.size != 0) {
            arcp_buf_append_format(&s->line, " %s=", named[i]);
            arcp__append_safe(&s->line, text, 200);
        }
    }
}

static arcp_status search_line(search *s, arcp_span text, arcp_error *err)
{
    arcp_json_limits limits = arcp_json_limits_init();
    arcp_buf_clear(&s->scratch);
    arcp_buf_clear(&s->line);
    /* Members are unescaped into `scratch` several times; it must not be reallocated meanwhile. */
    if (!arcp_buf_reserve(&s->scratch, text.size * 8)) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (arcp_json_scan(&s->json, text, &limits, NULL) != ARCP_OK || !matches(s)) {
        return ARCP_OK; /* invalid lines are the business of `verify` */
    }
    if (s->program->is_json) {
        arcp_buf_append(&s->line, text);
    } else {
        format_line(s);
    }
    s->has_print_failed = !arcp__program_print_buf_line(s->program, &s->line);
    return s->has_print_failed ? ARCP_E_CLOSED : ARCP_OK;
}

static arcp_status split(void *user, arcp_span bytes, arcp_error *err)
{
    search *s = user;
    arcp_status status = ARCP_OK;
    while (bytes.size != 0 && status == ARCP_OK) {
        const char *feed_at = memchr(bytes.data, '\n', bytes.size);
        const size_t size = feed_at == NULL ? bytes.size : (size_t)(feed_at - bytes.data);
        arcp_buf_append(&s->partial, arcp_span_first(bytes, size));
        if (s->partial.failed) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
        if (feed_at != NULL) {
            status = search_line(s, arcp_buf_span(&s->partial), err);
            arcp_buf_clear(&s->partial);
        }
        bytes = arcp_span_from(bytes, feed_at == NULL ? size : size + 1);
    }
    return status;
}

static int grep(arcp__program *program)
{
    const arcp__arguments *arguments = &program->arguments;
    search s = {.program = program, .json = ARCP__JSON_INIT};
    arcp_error err = {0};
    if (read_filters(arguments, &s, &err) != ARCP_OK) {
        return arcp__program_usage(program, &err);
    }
    arcp_status status = ARCP_OK;
    for (size_t i = 1; i < arguments->word_count && status == ARCP_OK; i++) {
        status = read_file(arguments->words[i], split, &s, &err);
        arcp_buf_clear(&s.partial); /* a line without its end is still being written */
    }
    arcp__json_fini(&s.json);
    arcp_buf_fini(&s.partial);
    arcp_buf_fini(&s.scratch);
    arcp_buf_fini(&s.line);
    if (s.has_print_failed) {
        return ARCP__EXIT_ERROR;
    }
    return status == ARCP_OK ? ARCP__EXIT_SUCCESS : arcp__program_fail_file(program, &err);
}

int arcp__command_audit(arcp__program *program)
{
    const char *subcommand = program->arguments.words[0];
    arcp_error err = {0};
    if (strcmp(subcommand, "verify") == 0) {
        return verify(program);
    }
    if (strcmp(subcommand, "grep") == 0) {
        return grep(program);
    }
    (void)arcp_error_set(&err, ARCP_E_USAGE, "unknown audit command '%s' (expected verify or grep)",
                         subcommand);
    return arcp__program_usage(program, &err);
}
