/* What `arcp run` prints of a run. Names that the command chose are escaped: a file name must not
 * be able to move the cursor, or to add an option to a suggestion that a user pastes into a shell.
 */
#include "arcp/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arcp/command.h"
#include "base/digits.h"
#include "base/directory.h"
#include "base/hex.h"
#include "base/utf8.h"
#include "json/json_put.h"

#define NAME_SHOWN_MAX  512
#define SUGGESTIONS_MAX 16
#define LINES_MAX       100 /* of denials */

/* ---- the file ---- */

arcp_status arcp__run_report_open(arcp__run_report *report, const arcp__run *run, arcp_error *err)
{
    const char *path = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_REPORT);
    *report = (arcp__run_report){.run = run, .file = -1};
    if (path == NULL) {
        return ARCP_OK;
    }
    report->file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0644);
    return report->file >= 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_USAGE, "--report %.200s: %s", path, strerror(errno));
}

void arcp__run_report_close(arcp__run_report *report)
{
    arcp__close(report->file);
    arcp_buf_fini(&report->failure);
    arcp__arena_fini(&report->arena);
}

/* Writes a line to the file. */
static void write_line(arcp__run_report *report, arcp_buf *line)
{
    arcp_buf_append_byte(line, '\n');
    if (report->file >= 0 && !report->is_incomplete &&
        (line->failed || !arcp__write_all(report->file, arcp_buf_span(line)))) {
        report->is_incomplete = true;
        arcp__screen_format(&report->run->program->screen, "arcp run: --report: %s",
                            line->failed ? "out of memory" : strerror(errno));
    }
    arcp_buf_fini(line);
}

/* ---- lines ---- */

static void say(const arcp__run_report *report, const char *word, int color, const arcp_buf *text)
{
    arcp__program *program = report->run->program;
    const arcp__line_style style = arcp__program_style(program, 0);
    arcp_buf line = arcp_buf_init();
    if (program->is_quiet) {
        return;
    }
    arcp__plain_line(&style, word, color, arcp_buf_span(text), &line);
    arcp__screen_line(&program->screen, arcp_buf_span(&line));
    arcp_buf_fini(&line);
}

void arcp__run_report_plan(arcp__run_report *report)
{
    const arcp__sandbox_plan *plan = report->run->plan;
    for (size_t i = 0; i < plan->line_count; i++) {
        const arcp__sandbox_line *row = &plan->lines[i];
        if (row->verdict == ARCP__SANDBOX_VERDICT_EXACT || i >= plan->lease_line_count) {
            continue;
        }
        arcp_buf text = arcp_buf_init();
        const char *note = arcp__sandbox_note_text(row->note);
        arcp__append_safe(&text, row->capability, NAME_SHOWN_MAX);
        arcp_buf_append_byte(&text, ' ');
        arcp__append_safe(&text, row->pattern, NAME_SHOWN_MAX);
        arcp_buf_append_format(&text, "%s%s", note[0] == '\0' ? "" : ": ", note);
        say(report, arcp__sandbox_verdict_name(row->verdict),
            row->verdict == ARCP__SANDBOX_VERDICT_REFUSED ? ARCP__COLOR_YELLOW : ARCP__COLOR_DIM,
            &text);
        arcp_buf_fini(&text);
    }
    if (report->file >= 0) {
        arcp_buf line = arcp_buf_init();
        arcp_json_writer writer = arcp__put_begin(&line);
        arcp_buf plan_text = arcp_buf_init();
        arcp__sandbox_report_json(plan, &plan_text);
        arcp__put_cstr(&writer, "type", "plan");
        arcp__put_raw(&writer, "plan", arcp_buf_span(&plan_text));
        arcp_json_end_object(&writer);
        line.failed = line.failed || plan_text.failed;
        arcp_buf_fini(&plan_text);
        write_line(report, &line);
    }
}

/* ---- records ---- */

/* The number of an error by its name, such as "EPERM"; 0: there is none. */
static int errno_of(arcp_span name)
{
    for (int number = 1; number < 256; number++) {
        const char *known = strerrorname_np(number);
        if (known != NULL && arcp_span_equal_cstr(name, known)) {
            return number;
        }
    }
    return 0;
}

/* Returns false for a denial that was counted before, or that finds no room. */
static bool add_denial(arcp__run_report *report, arcp_span capability, arcp_span target,
                       uint64_t count)
{
    for (size_t i = 0; i < report->denial_count; i++) {
        arcp__run_denial *known = &report->denials[i];
        if (arcp_span_equal(known->target, target) &&
            arcp_span_equal(known->capability, capability)) {
            known->count = count;
            return false;
        }
    }
    if (report->denial_count == ARCP__RUN_DENIALS_MAX || target.size == 0) {
        report->more += count;
        return false;
    }
    const arcp__run_denial added = {arcp__arena_copy(&report->arena, capability),
                                    arcp__arena_copy(&report->arena, target), count};
    if (added.capability.data == NULL || added.target.data == NULL) {
        report->more += count;
        return false;
    }
    report->denials[report->denial_count++] = added;
    return true;
}

static void take_denied(arcp__run_report *report, const arcp_json *json, arcp_json_ref denied)
{
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    static const char *const names[] = {"capability", "target", "program"};
    arcp_span texts[3];
    uint64_t count = 1;
    if (!arcp_json_is(json, denied, ARCP_JSON_OBJECT)) {
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const arcp_json_ref at = arcp_json_member(json, denied, arcp_span_cstr(names[i]));
        texts[i] = arcp_json_is(json, at, ARCP_JSON_STRING) ? arcp_json_string(json, at, &room[i])
                                                            : arcp_span_make(NULL, 0);
    }
    (void)arcp_json_u64(json, arcp_json_member(json, denied, ARCP_SPAN_LITERAL("count")), &count);
    const bool is_new = add_denial(report, texts[0], texts[1], count);
    if (is_new && report->denial_count > LINES_MAX) {
        if (report->denial_count == LINES_MAX + 1 && !report->run->program->is_quiet) {
            arcp__screen_format(&report->run->program->screen,
                                "arcp run: more than %d names were denied; the others are counted",
                                LINES_MAX);
        }
    } else if (is_new) {
        arcp_buf text = arcp_buf_init();
        arcp__append_safe(&text, texts[0], 64);
        arcp_buf_append_byte(&text, ' ');
        arcp__append_safe(&text, texts[1], NAME_SHOWN_MAX);
        if (texts[2].size != 0) {
            arcp_buf_append_cstr(&text, " (");
            arcp__append_safe(&text, texts[2], 64);
            arcp_buf_append_byte(&text, ')');
        }
        say(report, "denied", ARCP__COLOR_YELLOW, &text);
        arcp_buf_fini(&text);
    }
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
}

static void take_failed(arcp__run_report *report, const arcp_json *json)
{
    arcp_buf room[3] = {arcp_buf_init(), arcp_buf_init(), arcp_buf_init()};
    static const char *const names[] = {"failed", "path", "errno"};
    arcp_span texts[3];
    for (size_t i = 0; i < 3; i++) {
        const arcp_json_ref at = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(names[i]));
        texts[i] = arcp_json_is(json, at, ARCP_JSON_STRING) ? arcp_json_string(json, at, &room[i])
                                                            : arcp_span_make(NULL, 0);
    }
    const int number = errno_of(texts[2]);
    arcp_buf_clear(&report->failure);
    arcp__append_safe(&report->failure, texts[0], 64);
    if (texts[1].size != 0) {
        arcp_buf_append_byte(&report->failure, ' ');
        arcp__append_safe(&report->failure, texts[1], NAME_SHOWN_MAX);
    }
    arcp_buf_append_cstr(&report->failure, ": ");
    arcp_buf_append_cstr(&report->failure, number == 0 ? "unknown error" : strerror(number));
    for (size_t i = 0; i < 3; i++) {
        arcp_buf_fini(&room[i]);
    }
}

/* Files that were granted and are not there: they cannot be made either. */
static void take_running(const arcp__run_report *report, const arcp_json *json)
{
    const arcp_json_ref absent =
        arcp_json_member(json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("absent"));
    if (!arcp_json_is(json, absent, ARCP_JSON_ARRAY)) {
        return;
    }
    for (arcp_json_ref at = arcp_json_first(json, absent); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, absent, at)) {
        const arcp_json_ref path = arcp_json_is(json, at, ARCP_JSON_OBJECT)
                                       ? arcp_json_member(json, at, ARCP_SPAN_LITERAL("path"))
                                       : ARCP_JSON_ABSENT;
        if (!arcp_json_is(json, path, ARCP_JSON_STRING)) {
            continue;
        }
        arcp_buf room = arcp_buf_init();
        arcp_buf text = arcp_buf_init();
        arcp__append_safe(&text, arcp_json_string(json, path, &room), NAME_SHOWN_MAX);
        arcp_buf_append_cstr(&text, ": the lease names a file, and there is none");
        say(report, "absent", ARCP__COLOR_YELLOW, &text);
        arcp_buf_fini(&text);
        arcp_buf_fini(&room);
    }
}

/* What the git of others would use, and the program made. */
static void take_planted(const arcp__run_report *report, const arcp_json *json, arcp_json_ref list)
{
    for (arcp_json_ref at = arcp_json_first(json, list); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, list, at)) {
        arcp_buf room = arcp_buf_init();
        arcp_buf text = arcp_buf_init();
        if (arcp_json_is(json, at, ARCP_JSON_STRING)) {
            arcp__append_safe(&text, arcp_json_string(json, at, &room), NAME_SHOWN_MAX);
            arcp_buf_append_cstr(&text, ": made by the command; git uses it from now on");
            say(report, "planted", ARCP__COLOR_YELLOW, &text);
        }
        arcp_buf_fini(&text);
        arcp_buf_fini(&room);
    }
}

void arcp__run_report_record(arcp__run_report *report, arcp_span record)
{
    arcp_json json = ARCP__JSON_INIT;
    static const char *const types[] = {"running", "denied", "planted", "failed"};
    if (arcp_json_scan(&json, record, NULL, NULL) == ARCP_OK &&
        arcp_json_is(&json, ARCP_JSON_ROOT, ARCP_JSON_OBJECT)) {
        for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
            const arcp_json_ref at =
                arcp_json_member(&json, ARCP_JSON_ROOT, arcp_span_cstr(types[i]));
            if (at == ARCP_JSON_ABSENT) {
                continue;
            }
            if (i == 0) {
                take_running(report, &json);
            } else if (i == 1) {
                take_denied(report, &json, at);
            } else if (i == 2) {
                take_planted(report, &json, at);
            } else {
                take_failed(report, &json);
            }
            if (report->file >= 0) {
                arcp_buf line = arcp_buf_init();
                arcp_json_writer writer = arcp__put_begin(&line);
                arcp__put_cstr(&writer, "type", types[i]);
                arcp__put_raw(&writer, "record", record);
                arcp_json_end_object(&writer);
                write_line(report, &line);
            }
            break;
        }
    }
    arcp__json_fini(&json);
}

/* ---- suggestions ---- */

static bool hex_byte(const char digits[2], uint8_t *out)
{
    const int high = arcp__hex_value((unsigned char)digits[0]);
    const int low = arcp__hex_value((unsigned char)digits[1]);
    if (high < 0 || low < 0) {
        return false;
    }
    *out = (uint8_t)(high * 16 + low);
    return true;
}

/* Undoes \xNN; false for a name that an option cannot have: one with a wildcard (it would grant
 * more than this file), with control characters, or that is not UTF-8. */
static bool plain_name(arcp_span shown, arcp_buf *out)
{
    for (size_t i = 0; i < shown.size; i++) {
        uint8_t byte = (uint8_t)shown.data[i];
        if (byte == '\\' && i + 3 < shown.size && shown.data[i + 1] == 'x' &&
            hex_byte(shown.data + i + 2, &byte)) {
            i += 3;
        }
        arcp_buf_append_byte(out, (char)byte);
    }
    const arcp_span name = arcp_buf_span(out);
    bool is_plain = name.size != 0 && name.data[0] != '-' && arcp__utf8_is_valid(name) &&
                    memchr(name.data, '*', name.size) == NULL;
    for (size_t i = 0; i < name.size && is_plain; i++) {
        uint32_t code_point = 0;
        is_plain = arcp__control_size(arcp_span_from(name, i), &code_point) == 0;
    }
    return is_plain;
}

/* Quotes a word for a shell where it needs that. */
static void append_quoted(arcp_buf *out, arcp_span word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "/._-+,:@%=";
    bool needs_quotes = word.size == 0;
    for (size_t i = 0; i < word.size; i++) {
        needs_quotes = needs_quotes || memchr(plain, word.data[i], sizeof plain - 1) == NULL;
    }
    if (!needs_quotes) {
        arcp_buf_append(out, word);
        return;
    }
    arcp_buf_append_byte(out, '\'');
    for (size_t i = 0; i < word.size; i++) {
        if (word.data[i] == '\'') {
            arcp_buf_append_cstr(out, "'\\''");
        } else {
            arcp_buf_append_byte(out, word.data[i]);
        }
    }
    arcp_buf_append_byte(out, '\'');
}

/* An option that would allow a denial. */
typedef struct suggestion {
    const char *option; /* NULL: another one includes it */
    arcp_buf name;      /* its value; empty: it has none */
} suggestion;

/* The option that lets a .git be written which is protected in a directory of the lease; NULL: the
 * path is in none. */
static const char *protection_of(const arcp__sandbox_plan *plan, const char *path)
{
    for (size_t i = 0; plan != NULL && i < plan->mount_count; i++) {
        const arcp__sandbox_mount *mount = &plan->mounts[i];
        char git[PATH_MAX];
        (void)snprintf(git, sizeof git, "%.*s/.git", (int)mount->target.size, mount->target.data);
        if (mount->kind == ARCP__SANDBOX_MOUNT_GIT && arcp__run_is_within(path, git)) {
            return plan->protect == ARCP__SANDBOX_PROTECT_STRICT ? "--protect commits"
                                                                 : "--no-protect";
        }
    }
    return NULL;
}

static const char *option_for(arcp_span capability)
{
    static const char *const options[][2] = {
        {"fs.read", "--read"}, {"fs.write", "--write"}, {"net.fetch", "--fetch"}};
    for (size_t i = 0; i < sizeof options / sizeof options[0]; i++) {
        if (arcp_span_equal_cstr(capability, options[i][0])) {
            return options[i][1];
        }
    }
    return NULL;
}

/* Whether the option would grant too much for a hint: a directory is granted with everything below
 * it. And none grants the files of ARCP itself. */
static bool is_too_wide(const arcp__run *run, const char *path)
{
    const char *const homes[] = {run->home, run->account_home};
    if (path[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < 2; i++) {
        if (homes[i] != NULL && arcp__run_is_within(homes[i], path)) {
            return true;
        }
    }
    for (size_t i = 0; i < run->request.own_count; i++) {
        if (arcp__run_is_within(path, run->request.own[i].data)) {
            return true;
        }
    }
    return strchr(path + 1, '/') == NULL; /* `/`, or right below it */
}

/* Whether what `other` allows includes what `one` allows. */
static bool includes(const suggestion *other, const suggestion *one)
{
    const bool is_path = one->name.size != 0 && strcmp(one->option, "--fetch") != 0;
    const bool has_right = strcmp(other->option, one->option) == 0 ||
                           (is_path && strcmp(other->option, "--write") == 0);
    return has_right && (is_path ? arcp__run_is_within(one->name.data, other->name.data)
                                 : strcmp(one->name.data, other->name.data) == 0);
}

static int by_size(const void *a, const void *b)
{
    const suggestion *left = a;
    const suggestion *right = b;
    const size_t left_size = strlen(left->option) + left->name.size;
    const size_t right_size = strlen(right->option) + right->name.size;
    return left_size < right_size   ? -1
           : left_size > right_size ? 1
                                    : strcmp(left->name.data, right->name.data);
}

/* Removes those that others include; returns how many remain. */
static size_t remove_included(suggestion *list, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        bool is_included = false;
        for (size_t j = 0; j < count && !is_included; j++) {
            is_included = j != i && list[j].option != NULL && includes(&list[j], &list[i]);
        }
        if (is_included) {
            list[i].option = NULL;
            arcp_buf_fini(&list[i].name);
        }
    }
    for (size_t i = 0; i < count; i++) {
        if (list[i].option != NULL) {
            list[kept++] = list[i];
        }
    }
    return kept;
}

void arcp__run_suggest(const arcp__run_report *report, arcp_buf *out)
{
    suggestion list[ARCP__RUN_DENIALS_MAX];
    size_t count = 0;
    for (size_t i = 0; i < report->denial_count; i++) {
        const arcp__run_denial *denial = &report->denials[i];
        suggestion *one = &list[count];
        *one = (suggestion){.option = option_for(denial->capability), .name = arcp_buf_init()};
        if (one->option == NULL || !plain_name(denial->target, &one->name) ||
            arcp_buf_cstr(&one->name) == NULL || is_too_wide(report->run, one->name.data)) {
            arcp_buf_fini(&one->name);
            continue;
        }
        const char *protection = strcmp(one->option, "--write") == 0
                                     ? protection_of(report->run->plan, one->name.data)
                                     : NULL;
        if (protection != NULL) {
            one->option = protection;
            arcp_buf_clear(&one->name);
            one->name.data[0] = '\0';
        }
        count++;
    }
    qsort(list, count, sizeof *list, by_size);
    count = remove_included(list, count);
    for (size_t i = 0; i < count; i++) {
        if (i < SUGGESTIONS_MAX) {
            arcp_buf_append_format(out, " %s", list[i].option);
        }
        if (i < SUGGESTIONS_MAX && list[i].name.size != 0) {
            arcp_buf_append_byte(out, ' ');
            append_quoted(out, arcp_buf_span(&list[i].name));
        }
        arcp_buf_fini(&list[i].name);
    }
    if (count > SUGGESTIONS_MAX) {
        arcp_buf_append_format(out, " (and %zu more)", count - SUGGESTIONS_MAX);
    }
}

/* ---- the end ---- */

static const char *const ends[] = {
    [ARCP__RUN_EXITED] = "exited",           [ARCP__RUN_SIGNALLED] = "signalled",
    [ARCP__RUN_NOT_STARTED] = "not_started", [ARCP__RUN_EXPIRED] = "expired",
    [ARCP__RUN_TIMED_OUT] = "timed_out",
};

static void write_end(arcp__run_report *report, arcp__run_end end, int code, uint64_t denials,
                      int64_t runtime_ms)
{
    arcp_buf line = arcp_buf_init();
    arcp_json_writer writer = arcp__put_begin(&line);
    arcp__put_cstr(&writer, "type", "end");
    arcp__put_cstr(&writer, "end", ends[end]);
    arcp__put_i64(&writer, end == ARCP__RUN_SIGNALLED ? "signal" : "exit_status", code);
    arcp__put_text(&writer, "failure", arcp_buf_span(&report->failure));
    arcp__put_u64(&writer, "denied", denials);
    arcp__put_i64(&writer, "runtime_ms", runtime_ms);
    arcp_json_end_object(&writer);
    write_line(report, &line);
}

void arcp__run_report_end(arcp__run_report *report, arcp__run_end end, int code, int64_t runtime_ms)
{
    const arcp__run *run = report->run;
    arcp__screen *screen = &run->program->screen;
    uint64_t denials = report->more;
    for (size_t i = 0; i < report->denial_count; i++) {
        denials += report->denials[i].count;
    }
    if (report->file >= 0) {
        write_end(report, end, code, denials, runtime_ms);
    }
    if (end == ARCP__RUN_NOT_STARTED) {
        arcp__screen_format(screen, "arcp run: %.*s", (int)report->failure.size,
                            report->failure.size == 0 ? "" : report->failure.data);
    } else if (end == ARCP__RUN_EXPIRED) {
        arcp__screen_format(screen, "arcp run: the lease expired; the command was killed");
    } else if (end == ARCP__RUN_TIMED_OUT) {
        arcp__screen_format(screen, "arcp run: the command was ended after %llu s (--max-runtime)",
                            (unsigned long long)run->max_runtime_sec);
    }
    if (run->program->is_quiet) {
        return;
    }
    if (denials != 0) {
        arcp_buf text = arcp_buf_init();
        arcp_buf options = arcp_buf_init();
        arcp_buf_append_format(&text, "arcp run: %llu denied.", (unsigned long long)denials);
        arcp__run_suggest(report, &options);
        if (options.size != 0) {
            arcp_buf_append_cstr(&text, " To allow:");
            arcp_buf_append(&text, arcp_buf_span(&options));
        }
        arcp__screen_line(screen, arcp_buf_span(&text));
        arcp_buf_fini(&options);
        arcp_buf_fini(&text);
    }
    if (run->kept_back != 0 && end == ARCP__RUN_EXITED && code != 0) {
        arcp__screen_format(screen,
                            "arcp run: %zu variable%s of the environment %s not passed to the "
                            "command; --env NAME passes one",
                            run->kept_back, run->kept_back == 1 ? "" : "s",
                            run->kept_back == 1 ? "was" : "were");
    }
}
