#include "audit/audit_check.h"

#include <stdio.h>

#include "json/json.h"

/* Far more than any line of arcpd has. Limits memory if a file has no line feeds. */
#define LINE_BYTES_MAX ((size_t)1 << 20)
/* The most that a line `torn` can cover (WINDOW_BYTES in audit_file.c). */
#define TORN_BYTES_MAX ((size_t)1 << 20)

static const char *const names[] = {
#define ARCP_AUDIT_PROBLEM(id, name, text) name,
#include "audit/audit_problem.def"
#undef ARCP_AUDIT_PROBLEM
};

const char *arcp__audit_problem_name(arcp__audit_problem problem)
{
    return names[problem];
}

void arcp__audit_check_init(arcp__audit_check *check, arcp__audit_finding_fn found, void *user)
{
    *check = (arcp__audit_check){
        .found = found, .user = user, .partial = arcp_buf_init(), .torn_text = arcp_buf_init()};
    arcp__audit_head_init(&check->head);
    arcp__audit_head_init(&check->first);
}

void arcp__audit_check_fini(arcp__audit_check *check)
{
    arcp_buf_fini(&check->partial);
    arcp_buf_fini(&check->torn_text);
}

void arcp__audit_check_begin(arcp__audit_check *check, const char *name)
{
    check->file = name;
    check->line = 0;
}

static void report_at(arcp__audit_check *check, uint64_t line, arcp__audit_problem problem,
                      uint64_t seq, const char *message)
{
    check->problems++;
    check->found(
        check->user,
        &(arcp__audit_finding){
            .problem = problem, .file = check->file, .line = line, .seq = seq, .message = message});
}

static void report(arcp__audit_check *check, arcp__audit_problem problem, uint64_t seq,
                   const char *message)
{
    report_at(check, check->line, problem, seq, message);
}

/* Reports the malformed lines that no line `torn` has accounted for. They are the ones right before
 * the current line, or before the end. */
static void report_malformed(arcp__audit_check *check)
{
    for (uint64_t i = 0; i < check->torn_count; i++) {
        report_at(check, check->torn_line + i, ARCP__AUDIT_PROBLEM_MALFORMED, 0,
                  "not a line of a chain: it was changed or cut off");
    }
    check->torn_count = 0;
    arcp_buf_clear(&check->torn_text);
}

/* ---- lines about the log itself ---- */

typedef struct note {
    bool is_torn, is_closed;
    uint64_t torn_bytes;
    char torn_hash[ARCP__AUDIT_HASH_SIZE];
    bool has_previous;
    char previous[ARCP__AUDIT_HASH_SIZE];
} note;

static bool read_hash(const arcp_json *json, const char *name, char out[ARCP__AUDIT_HASH_SIZE])
{
    const arcp_json_ref ref = arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name));
    const arcp_span quoted = arcp_json_raw(json, ref);
    if (!arcp_json_is(json, ref, ARCP_JSON_STRING) || quoted.size != ARCP__AUDIT_HASH_SIZE + 2) {
        return false;
    }
    memcpy(out, quoted.data + 1, ARCP__AUDIT_HASH_SIZE);
    return true;
}

static bool member_equals(const arcp_json *json, const char *name, const char *text)
{
    return arcp_json_string_equals(
        json, arcp_json_member(json, ARCP_JSON_ROOT, arcp_span_cstr(name)), arcp_span_cstr(text));
}

static void read_note(arcp_span line, note *out)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_json_limits limits = arcp_json_limits_init();
    *out = (note){.is_torn = false};
    /* Most lines are not about the log, and need not be parsed. */
    if (memmem(line.data, line.size, "\"event\":\"log\"", 13) == NULL) {
        return;
    }
    if (arcp_json_scan(&json, line, &limits, NULL) == ARCP_OK &&
        member_equals(&json, "event", "log")) {
        const arcp_json_ref bytes =
            arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("torn_bytes"));
        out->is_closed = member_equals(&json, "decision", "closed");
        out->is_torn = member_equals(&json, "decision", "torn") &&
                       arcp_json_u64(&json, bytes, &out->torn_bytes) &&
                       read_hash(&json, "torn_sha256", out->torn_hash);
        out->has_previous = read_hash(&json, "previous", out->previous);
    }
    arcp__json_fini(&json);
}

/* ---- the chain ---- */

/* A line `torn` accounts for the last bytes before it by their size and hash. (Those of an earlier
 * release cover the last line only.) */
static void check_torn(arcp__audit_check *check, const note *about)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    const arcp_span text = arcp_buf_span(&check->torn_text);
    if (about->is_torn && check->torn_count != 0 && about->torn_bytes <= text.size) {
        const arcp_span last = arcp_span_from(text, text.size - (size_t)about->torn_bytes);
        const char *before = last.size == text.size ? NULL : last.data - 1;
        arcp__audit_sha256(last, hash);
        if ((before == NULL || *before == '\n') &&
            memcmp(about->torn_hash, hash, sizeof hash) == 0) {
            check->torn++;
            check->torn_count--;
            for (size_t i = 0; i < last.size; i++) {
                check->torn_count -= last.data[i] == '\n' ? 1 : 0;
            }
        }
    }
    report_malformed(check);
}

/* Remembers a malformed line until the next line shows whether it is accounted for. */
static void add_torn(arcp__audit_check *check, arcp_span line)
{
    if (check->torn_count++ == 0) {
        check->torn_line = check->line;
    } else {
        arcp_buf_append_byte(&check->torn_text, '\n');
    }
    if (check->torn_text.size + line.size <= TORN_BYTES_MAX) {
        arcp_buf_append(&check->torn_text, line);
    }
}

/* Checks the number of the first line of all. Every file begins with a line that repeats the hash
 * before it; if it has none, it must be line 1. */
static void check_first_seq(arcp__audit_check *check, uint64_t seq, bool has_previous)
{
    char message[160];
    if (seq != 1 && !has_previous) {
        (void)snprintf(message, sizeof message,
                       "lines are missing before number %llu: no file begins with such a line",
                       (unsigned long long)seq);
        report(check, ARCP__AUDIT_PROBLEM_MISSING, seq, message);
    }
}

/* Checks the number of a further line. False: it is out of order, and must not become the head. */
static bool check_next_seq(arcp__audit_check *check, uint64_t seq)
{
    const unsigned long long next = check->head.seq + 1;
    char message[160];
    if (seq < next) {
        (void)snprintf(message, sizeof message, "number %llu follows number %llu%s",
                       (unsigned long long)seq, next - 1,
                       seq == 1 ? "; the file of another arcpd has a chain of its own" : "");
        report(check, ARCP__AUDIT_PROBLEM_ORDER, seq, message);
        return false;
    }
    if (seq == next + 1) {
        (void)snprintf(message, sizeof message, "line number %llu is missing before this one",
                       next);
        report(check, ARCP__AUDIT_PROBLEM_MISSING, seq, message);
    } else if (seq > next) {
        (void)snprintf(message, sizeof message,
                       "lines number %llu to %llu are missing before this one", next,
                       (unsigned long long)seq - 1);
        report(check, ARCP__AUDIT_PROBLEM_MISSING, seq, message);
    }
    return true;
}

/* Checks that the line has the hash that follows from its body and the hash before it. */
static void check_hash(arcp__audit_check *check, const arcp__audit_line_view *view)
{
    char hash[ARCP__AUDIT_HASH_SIZE];
    arcp__audit_line_hash(check->head.hash, view->body, hash);
    if (memcmp(hash, view->hash.data, sizeof hash) != 0) {
        report(check, ARCP__AUDIT_PROBLEM_EDITED, view->seq,
               "the line does not match its hash: the line, or the hash before it, was changed");
    }
}

/* Checks a head that was recorded elsewhere: the line must exist and have its hash. */
static void check_wanted(arcp__audit_check *check, const arcp__audit_line_view *view)
{
    if (view->seq != check->wanted.seq) {
        return;
    }
    check->has_wanted = true;
    if (memcmp(view->hash.data, check->wanted.hash, sizeof check->wanted.hash) != 0) {
        report(check, ARCP__AUDIT_PROBLEM_HEAD, view->seq,
               "the line does not have the given hash: the chain was rewritten");
    }
}

static void check_line(arcp__audit_check *check, arcp_span line)
{
    arcp__audit_line_view view;
    note about;
    check->line++;
    if (!arcp__audit_line_read(line, &view)) {
        add_torn(check, line);
        return;
    }
    read_note(line, &about);
    check_torn(check, &about);
    check->lines++;
    check->is_closed = about.is_closed;
    const bool is_first = check->first.seq == 0;
    const bool follows = view.seq == check->head.seq + 1; /* the hash before it is known */
    if (is_first) {
        check_first_seq(check, view.seq, about.has_previous);
    } else if (!check_next_seq(check, view.seq)) {
        return;
    }
    /* At the beginning and after missing lines, `previous` is the only source of the hash before.
     */
    if ((is_first || !follows) && about.has_previous) {
        memcpy(check->head.hash, about.previous, sizeof check->head.hash);
    }
    if (is_first) {
        check->first.seq = view.seq;
        memcpy(check->first.hash, check->head.hash, sizeof check->first.hash);
    }
    if (follows || about.has_previous) {
        check_hash(check, &view);
    }
    check_wanted(check, &view);
    check->head.seq = view.seq;
    memcpy(check->head.hash, view.hash.data, sizeof check->head.hash);
}

/* ---- splitting bytes into lines ---- */

arcp_status arcp__audit_check_feed(arcp__audit_check *check, arcp_span bytes, arcp_error *err)
{
    while (bytes.size != 0) {
        const char *feed = memchr(bytes.data, '\n', bytes.size);
        const size_t size = feed == NULL ? bytes.size : (size_t)(feed - bytes.data);
        if (check->partial.size == 0 && feed != NULL) {
            check_line(check, arcp_span_first(bytes, size));
        } else {
            const size_t room = LINE_BYTES_MAX - check->partial.size;
            arcp_buf_append(&check->partial, arcp_span_first(bytes, size < room ? size : room));
            if (check->partial.failed) {
                return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
            }
            if (feed != NULL) {
                check_line(check, arcp_buf_span(&check->partial));
                arcp_buf_clear(&check->partial);
            }
        }
        bytes = arcp_span_from(bytes, feed == NULL ? size : size + 1);
    }
    return ARCP_OK;
}

void arcp__audit_check_end(arcp__audit_check *check)
{
    report_malformed(check);
    if (check->partial.size != 0) {
        check->line++;
        check->is_closed = false;
        report(check, ARCP__AUDIT_PROBLEM_TRUNCATED, 0, "the file ends within this line");
        arcp_buf_clear(&check->partial);
    } else if (check->line == 0) {
        report_at(check, 1, ARCP__AUDIT_PROBLEM_EMPTY, 0,
                  "the file has no line, but every audit file begins with one: it was emptied, or "
                  "has just been created");
    }
}

void arcp__audit_check_finish(arcp__audit_check *check)
{
    if (check->wanted.seq != 0 && !check->has_wanted) {
        report(check, ARCP__AUDIT_PROBLEM_HEAD, check->wanted.seq,
               "the given line does not exist: the end was cut off");
    }
}
