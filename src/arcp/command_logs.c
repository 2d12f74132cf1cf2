/* `arcp logs`: the events of a job on standard output, a line each. */
#include <string.h>
#include <unistd.h>

#include <arcp/event_body.h>

#include "arcp/command.h"
#include "arcp/jobs.h"
#include "arcp/operator.h"
#include "base/alloc.h"
#include "base/digits.h"

#define TAIL_MAX 1000000

typedef struct logs {
    arcp__program *program;
    arcp__line_style style;
    char since_room[ARCP__TIMESTAMP_SIZE];
    bool has_since;
    arcp__instant since;
    int level_min; /* -1: any */
    bool is_stderr;

    /* The last lines of the history, until all of it has arrived; NULL: each is printed at once. */
    arcp_buf *tail;
    size_t tail_size;
    uint64_t tail_count;
} logs;

/* ---- what to print ---- */

/* In the order of their weight; other words of agents count as the level beside them. */
static const char *const levels[][3] = {{"debug", "trace", ""},
                                        {"info", "notice", ""},
                                        {"warn", "warning", ""},
                                        {"error", "critical", "fatal"}};
#define LEVELS ((int)(sizeof levels / sizeof *levels))

/* LEVELS: it is none of the words. */
static int level_of(arcp_span word)
{
    for (int level = 0; level < LEVELS; level++) {
        for (size_t i = 0; i < 3 && levels[level][i][0] != '\0'; i++) {
            if (word.size == strlen(levels[level][i]) &&
                strncasecmp(word.data, levels[level][i], word.size) == 0) {
                return level;
            }
        }
    }
    return LEVELS;
}

static arcp_status read_level(logs *l, arcp_error *err)
{
    const char *given = arcp__value(&l->program->arguments, ARCP__OPTION_LOGS_LEVEL);
    l->level_min = -1;
    for (int level = 0; given != NULL && level < LEVELS; level++) {
        if (strcmp(given, levels[level][0]) == 0) {
            l->level_min = level;
        }
    }
    return given == NULL || l->level_min >= 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE,
                                "--level: '%.64s' is not one of debug, info, warn, error", given);
}

static arcp_status check_kinds(const arcp__arguments *arguments, arcp_error *err)
{
    for (size_t i = 0; i < arguments->counts[ARCP__OPTION_LOGS_KIND]; i++) {
        const char *word = arguments->values[ARCP__OPTION_LOGS_KIND][i];
        const arcp_event_kind kind = arcp_event_kind_from_wire(arcp_span_cstr(word));
        if (kind == ARCP_EVENT_UNKNOWN || kind == ARCP_EVENT_COUNT) {
            return arcp_error_set(err, ARCP_E_USAGE, "--kind: '%.64s' is no kind of event", word);
        }
    }
    return ARCP_OK;
}

static arcp_status read_options(logs *l, arcp_error *err)
{
    const arcp__arguments *arguments = &l->program->arguments;
    const char *since = arcp__value(arguments, ARCP__OPTION_LOGS_SINCE);
    const char *tail = arcp__value(arguments, ARCP__OPTION_LOGS_TAIL);
    uint64_t count = 0;
    arcp_span instant = {NULL, 0};
    l->is_stderr = arcp__has(arguments, ARCP__OPTION_LOGS_STDERR);
    if (l->is_stderr && (since != NULL || arguments->counts[ARCP__OPTION_LOGS_KIND] != 0 ||
                         arcp__has(arguments, ARCP__OPTION_LOGS_LEVEL))) {
        return arcp_error_set(
            err, ARCP_E_USAGE,
            "--stderr has no times, kinds and levels: --since, --kind and --level "
            "cannot be given with it");
    }
    if (read_level(l, err) != ARCP_OK || check_kinds(arguments, err) != ARCP_OK) {
        return err->status;
    }
    if (tail != NULL && (!arcp__digits_parse(arcp_span_cstr(tail), &count) || count > TAIL_MAX)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--tail: '%.64s' is not a number from 0 to %d",
                              tail, TAIL_MAX);
    }
    l->has_since = since != NULL;
    if (since != NULL && (arcp__instant_text("since", since, -1, arcp__now_wall_ns(), l->since_room,
                                             &instant, err) != ARCP_OK ||
                          arcp__timestamp_parse(instant, &l->since, err) != ARCP_OK)) {
        return err->status;
    }
    if (tail != NULL) {
        l->tail_size = (size_t)count;
        l->tail = arcp__alloc_array(l->tail_size + 1, sizeof *l->tail);
        if (l->tail == NULL) {
            return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    return ARCP_OK;
}

static bool has_kind(const arcp__arguments *arguments, const arcp_client_event *event)
{
    const size_t count = arguments->counts[ARCP__OPTION_LOGS_KIND];
    for (size_t i = 0; i < count; i++) {
        if (arcp_span_equal_cstr(event->kind_text, arguments->values[ARCP__OPTION_LOGS_KIND][i])) {
            return true;
        }
    }
    return count == 0;
}

static bool is_wanted(const logs *l, const arcp_client_event *event)
{
    arcp__instant at;
    if (!has_kind(&l->program->arguments, event)) {
        return false; /* the end of the job has no kind */
    }
    if (l->has_since && arcp__timestamp_parse(event->ts, &at, NULL) == ARCP_OK &&
        arcp__instant_compare(at, l->since) <= 0) {
        return false;
    }
    if (l->level_min < 0 || event->type != ARCP_CLIENT_JOB_EVENT || event->kind != ARCP_EVENT_LOG) {
        return true;
    }
    return level_of(arcp_client_event_body(event)->log.level) >= l->level_min;
}

/* ---- printing ---- */

static void append_end(const logs *l, const arcp_client_event *event, arcp_buf *out)
{
    const arcp_outcome *outcome = arcp_job_outcome(event->job);
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, arcp_job_status_name(outcome->final_status));
    if (outcome->error != NULL) {
        arcp_buf_append_format(&text, " %s: %s",
                               outcome->error->code[0] != '\0'
                                   ? outcome->error->code
                                   : arcp_status_name(outcome->error->status),
                               outcome->error->message);
    }
    arcp__plain_line(&l->style, "ended",
                     outcome->error != NULL ? ARCP__COLOR_RED : ARCP__COLOR_GREEN,
                     arcp_buf_span(&text), out);
    arcp_buf_fini(&text);
}

/* False: this event has no line. */
static bool append_line(const logs *l, const arcp_client_event *event, arcp_buf *out)
{
    if (l->program->is_json) {
        arcp_buf_append(out, arcp_client_event_payload(event));
        return true;
    }
    if (event->type == ARCP_CLIENT_JOB_ENDED) {
        append_end(l, event, out);
        return true;
    }
    return arcp__event_line(&l->style, event, out);
}

static bool on_event(void *user, const arcp_client_event *event)
{
    logs *l = user;
    arcp_buf line = arcp_buf_init();
    if (!is_wanted(l, event) || !append_line(l, event, &line)) {
        arcp_buf_fini(&line);
        return true;
    }
    if (l->tail == NULL) {
        return arcp__program_print_text_line(l->program, &line);
    }
    if (l->tail_size == 0) {
        arcp_buf_fini(&line);
        return true;
    }
    arcp_buf *slot = &l->tail[l->tail_count++ % l->tail_size];
    arcp_buf_fini(slot);
    *slot = line;
    return true;
}

/* Prints what is left of the history; from now on each line is printed at once. */
static bool on_caught_up(void *user)
{
    logs *l = user;
    const bool is_full = l->tail_count > l->tail_size;
    const size_t count = is_full ? l->tail_size : (size_t)l->tail_count;
    const size_t first = is_full ? (size_t)(l->tail_count % l->tail_size) : 0;
    bool is_printed = true;
    for (size_t i = 0; l->tail != NULL && i < count; i++) {
        arcp_buf *line = &l->tail[(first + i) % count];
        is_printed = arcp__program_print_text_line(l->program, line) && is_printed;
    }
    arcp__free(l->tail);
    l->tail = NULL;
    return is_printed;
}

static int read_logs(arcp__program *program, arcp_client *client, void *user)
{
    arcp_error err = {.details = &program->error_details};
    arcp_buf id = arcp_buf_init();
    int exit_status = ARCP__EXIT_SUCCESS;
    logs *l = user;
    const bool is_found =
        arcp__job_resolve(program, client, program->arguments.words[0], &id, &exit_status);
    if (is_found && l->is_stderr) {
        const uint64_t tail = l->tail_size;
        exit_status = arcp__logs_stderr(program, client, arcp_buf_span(&id),
                                        arcp__has(&program->arguments, ARCP__OPTION_LOGS_FOLLOW),
                                        l->tail == NULL ? NULL : &tail);
    } else if (is_found) {
        const arcp__history history = {
            .client = client,
            .id = arcp_buf_span(&id),
            .follows = arcp__has(&program->arguments, ARCP__OPTION_LOGS_FOLLOW),
            .event = on_event,
            .caught_up = on_caught_up,
            .user = user,
        };
        if (arcp__history_read(&history, &err) != ARCP_OK) {
            exit_status = arcp__program_fail(program, &err);
        }
    }
    arcp_buf_fini(&id);
    return exit_status;
}

int arcp__command_logs(arcp__program *program)
{
    logs l = {.program = program, .style = arcp__program_style(program, 0)};
    arcp_error err = {0};
    l.style.has_color = l.style.has_color && isatty(STDOUT_FILENO);
    const int exit_status = read_options(&l, &err) == ARCP_OK
                                ? arcp__program_request(program, read_logs, &l)
                                : arcp__program_usage(program, &err);
    for (size_t i = 0; l.tail != NULL && i < l.tail_size && i < l.tail_count; i++) {
        arcp_buf_fini(&l.tail[i]);
    }
    arcp__free(l.tail);
    return exit_status;
}
