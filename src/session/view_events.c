/* x-vendor.arcpd.events: a page of a job's records, as they are stored.
 *
 * Positions on the wire begin with 1. With `after` the page goes forward from there; else it is the
 * last one before `before`, or before the end. Records in memory are taken from there, others are
 * read, one page of the store in a turn. */
#include "session/view.h"

#define LIMIT_DEFAULT 100u
#define LIMIT_MAX     500u
#define ANSWER_MAX    1048576u

/* Records that are looked at in one turn. */
#define TURN_MAX 2048u

/* What a record takes in a page besides itself. */
#define ENTRY_EXTRA 64u

/* Records that are read at a time. */
#define WINDOW 256u

/* What was found so far, and where to go on. */
typedef struct found {
    arcp_buf out; /* entries */
    uint64_t shown;
    uint64_t position; /* forward: the next one to look at; else the one behind it */
    uint64_t cut;      /* backward: the store gave only what lies before this position; 0: all */
} found;

typedef struct paging {
    arcp__sessions *sessions;
    arcp__view_call *call;
    arcp__job *job;
    uint64_t limit;
    size_t bytes_max;
    bool is_forward;
    found *state;
} paging;

/* Whether the record's kind, or its type, is wanted. */
static bool is_wanted(const paging *range, arcp_span record)
{
    const arcp_json *json = &range->sessions->context->json;
    const arcp_json_ref kinds = range->call->in.job.kinds;
    if (arcp_json_is_missing(json, kinds)) {
        return true;
    }
    arcp_json own = ARCP__JSON_INIT;
    arcp_buf scratch = arcp_buf_init();
    const arcp_json_limits limits = ARCP__JSON_CHECKED_LIMITS;
    bool is_found = false;
    if (arcp_json_scan(&own, record, &limits, NULL) == ARCP_OK) {
        const arcp_json_ref payload =
            arcp_json_member(&own, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("payload"));
        const arcp_json_ref kind = arcp_json_member(&own, payload, ARCP_SPAN_LITERAL("kind"));
        const arcp_json_ref type =
            arcp_json_member(&own, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
        for (arcp_json_ref item = arcp_json_first(json, kinds);
             item != ARCP_JSON_ABSENT && !is_found; item = arcp_json_next(json, kinds, item)) {
            const arcp_span wanted = arcp_json_string(json, item, &scratch);
            is_found = arcp_json_string_equals(&own, kind, wanted) ||
                       arcp_json_string_equals(&own, type, wanted);
        }
    }
    arcp_buf_fini(&scratch);
    arcp__json_fini(&own);
    return is_found;
}

/* Appends the record as an entry, which ends with a line feed. False: the page is full. */
static bool append(const paging *range, arcp_buf *out, uint64_t *shown, uint64_t position,
                   arcp_span record)
{
    if (!is_wanted(range, record)) {
        return true;
    }
    if (*shown == range->limit ||
        (*shown != 0 && out->size + record.size + ENTRY_EXTRA > range->bytes_max)) {
        return false;
    }
    arcp_buf_append_format(out, "{\"position\":%llu,\"record\":", (unsigned long long)position + 1);
    arcp_buf_append(out, record);
    arcp_buf_append_cstr(out, "}\n");
    (*shown)++;
    return true;
}

/* ---- the answer ---- */

/* Appends the entries, which are in the order in which they were found, with the oldest first. */
static void append_entries(const paging *range, arcp_span entries, arcp_buf *out)
{
    bool is_first = true;
    while (entries.size != 0) {
        arcp_span entry = entries;
        if (range->is_forward) {
            (void)arcp__view_next_record(&entries, &entry);
        } else {
            size_t begin = entries.size - 1; /* of the last line feed */
            while (begin != 0 && entries.data[begin - 1] != '\n') {
                begin--;
            }
            entry = arcp_span_make(entries.data + begin, entries.size - 1 - begin);
            entries = arcp_span_first(entries, begin);
        }
        arcp_buf_append_cstr(out, is_first ? "" : ",");
        arcp_buf_append(out, entry);
        is_first = false;
    }
}

static void answer(const paging *range, bool has_more)
{
    arcp_buf out = arcp_buf_init();
    arcp_buf_append_format(&out, "{\"job_id\":\"%s\",\"events\":[", range->job->id);
    append_entries(range, arcp_buf_span(&range->state->out), &out);
    arcp_buf_append_format(&out, "],\"more\":%s}", has_more ? "true" : "false");
    out.failed = out.failed || range->state->out.failed;
    arcp__view_answer(range->sessions, range->call, &out);
    arcp_buf_fini(&out);
}

/* ---- looking ---- */

static bool look_at(paging *range, uint64_t position, arcp_span record)
{
    found *state = range->state;
    if (!append(range, &state->out, &state->shown, position, record)) {
        return false;
    }
    state->position = range->is_forward ? position + 1 : position;
    return true;
}

/* Takes the records that were read. False: the page is full. */
static bool take_read(paging *range, const arcp__view_wait *wait)
{
    arcp_span records = arcp_buf_span(&wait->records);
    arcp_span lines[WINDOW];
    size_t count = 0;
    while (count < WINDOW && arcp__view_next_record(&records, &lines[count])) {
        count++;
    }
    for (size_t i = 0; i < count; i++) {
        const size_t at = range->is_forward ? i : count - 1 - i;
        if (!look_at(range, wait->read_from + at, lines[at])) {
            return false;
        }
    }
    return true;
}

/* Backward: where the page ends, if the store gave less than all records before the position; else
 * 0. */
static uint64_t cut_of(const paging *range, const arcp__view_wait *wait)
{
    uint64_t end = wait->read_from;
    for (size_t i = 0; i < wait->records.size; i++) {
        end += wait->records.data[i] == '\n';
    }
    return !range->is_forward && end < range->state->position ? end : 0;
}

static bool is_in_memory(const paging *range)
{
    arcp_span record;
    const uint64_t position = range->state->position;
    return arcp__stream_find_record(range->job->stream, range->is_forward ? position : position - 1,
                                    &record);
}

/* Reads what is not in memory. The end of a page that the store cut short is read next. */
static void read_more(paging *range)
{
    const found *state = range->state;
    uint64_t from = state->position;
    uint64_t count = WINDOW;
    if (!range->is_forward) {
        from = state->position > WINDOW ? state->position - WINDOW : 0;
        from = state->cut > from && state->cut < state->position ? state->cut : from;
        count = state->position - from;
    }
    (void)arcp__view_read(range->sessions, range->call, range->job->stream->key, from, count,
                          ANSWER_MAX);
}

/* Looks at records in memory. True: the page is complete, and *has_more is set. */
static bool look(paging *range, bool *has_more)
{
    arcp__stream *stream = range->job->stream;
    found *state = range->state;
    *has_more = true;
    for (unsigned looked = 0; looked < TURN_MAX; looked++) {
        arcp_span record;
        if (range->is_forward ? state->position >= stream->next : state->position == 0) {
            *has_more = false;
            return true;
        }
        const uint64_t position = range->is_forward ? state->position : state->position - 1;
        if (!arcp__stream_find_record(stream, position, &record)) {
            return false;
        }
        if (!look_at(range, position, record)) {
            return true;
        }
    }
    return false;
}

/* ---- the request ---- */

static arcp_status read_request(paging *range, found *state, arcp_error *err)
{
    const arcp_json *json = &range->sessions->context->json;
    const arcp__view_job *in = &range->call->in.job;
    range->limit = in->limit == 0 ? LIMIT_DEFAULT : in->limit;
    range->is_forward = !arcp_json_is_missing(json, in->after);
    if (range->limit > LIMIT_MAX) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "payload.limit must be from 1 to %u",
                              LIMIT_MAX);
    }
    if (range->is_forward && !arcp_json_is_missing(json, in->before)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                              "payload has both after and before, must have one of them");
    }
    state->position = UINT64_MAX;
    (void)arcp_json_u64(json, range->is_forward ? in->after : in->before, &state->position);
    if (!range->is_forward && state->position != 0 && state->position != UINT64_MAX) {
        state->position--; /* positions on the wire begin with 1 */
    }
    return ARCP_OK;
}

/* Goes on in the next turn with what was found so far. */
static void keep(paging *range)
{
    arcp__view_wait *wait = arcp__view_later(range->sessions, range->call);
    if (wait == NULL) {
        arcp_buf_fini(&range->state->out);
        return;
    }
    wait->out = range->state->out;
    wait->shown = range->state->shown;
    wait->position = range->state->position;
}

void arcp__view_events_handle(arcp__sessions *sessions, arcp__view_call *call)
{
    const size_t frame_max = arcp__frame_payload_max(sessions->context) - 256;
    found state = {0};
    paging range = {.sessions = sessions,
                    .call = call,
                    .bytes_max = frame_max < ANSWER_MAX ? frame_max : ANSWER_MAX,
                    .state = &state};
    arcp_error error = {0};
    arcp__view_wait *wait = call->wait;
    if (read_request(&range, &state, &error) != ARCP_OK) {
        arcp__view_refuse(sessions, call, &error, ARCP__NOTHING);
        return;
    }
    range.job = arcp__view_find(sessions, call, ARCP_ROLE_VIEWER);
    if (range.job == NULL) {
        arcp__view_wait_free(wait);
        return;
    }
    const uint64_t next = range.job->stream->next;
    state.position = state.position > next ? next : state.position;
    bool is_full = false;
    bool has_more = true;
    if (wait != NULL) {
        state.out = wait->out;
        wait->out = arcp_buf_init();
        state.shown = wait->shown;
        state.position = wait->position;
    }
    if (wait != NULL && wait->is_read) {
        wait->is_read = false;
        if (wait->read_status != ARCP_OK || wait->records.size == 0) {
            is_full = true; /* nothing more can be read */
            has_more = false;
        } else {
            state.cut = cut_of(&range, wait);
            is_full = state.cut == 0 && !take_read(&range, wait);
        }
    }
    if (is_full || look(&range, &has_more)) {
        answer(&range, has_more);
        arcp_buf_fini(&state.out);
        arcp__view_wait_free(wait);
        return;
    }
    keep(&range);
    if (call->wait != NULL && !is_in_memory(&range)) {
        read_more(&range);
    }
}
