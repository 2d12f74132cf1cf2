/* Requests of a session that were seen before: the same envelope id again executes nothing,
 * and gets the answer that it got. */
#include "engine/parts.h"

#define SEEN_MAX        4096u
#define SEEN_ANSWER_MAX 65536u
#define SEEN_BYTES_MAX  4194304u /* of the answers of one session: the oldest go first */

void arcp__session_forget_seen(arcp__session *session)
{
    HASH_CLEAR(hh, session->seen);
    for (arcp__seen_request *at = session->seen_oldest, *next = NULL; at != NULL; at = next) {
        next = at->newer;
        arcp_buf_fini(&at->answer);
        arcp__free(at);
    }
    session->seen_oldest = session->seen_newest = NULL;
    session->seen_kept = NULL;
    session->seen_count = 0;
    session->seen_bytes = 0;
}

static void forget_text(arcp__session *session, arcp__seen_request *seen)
{
    session->seen_bytes -= seen->answer.size;
    arcp_buf_fini(&seen->answer);
}

static void forget_oldest_texts(arcp__session *session)
{
    while (session->seen_bytes > SEEN_BYTES_MAX) {
        if (session->seen_kept == NULL) {
            session->seen_kept = session->seen_oldest;
        }
        forget_text(session, session->seen_kept);
        session->seen_kept = session->seen_kept->newer;
    }
}

/* The key is a hash already. */
static arcp__seen_request *find_seen(const arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = NULL;
    HASH_FIND_BYHASHVALUE(hh, session->seen, &hash, sizeof(hash), (unsigned)hash, seen);
    return seen;
}

bool arcp__seen_add(arcp__engine *engine, arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = NULL;
    if (find_seen(session, hash) != NULL) {
        return true;
    }
    if (session->seen_count >= SEEN_MAX) {
        seen = session->seen_oldest;
        session->seen_oldest = seen->newer;
        session->seen_kept = session->seen_kept == seen ? seen->newer : session->seen_kept;
        HASH_DEL(session->seen, seen);
        forget_text(session, seen);
        session->seen_count--;
    } else {
        seen = arcp__alloc(sizeof(*seen));
        if (seen == NULL) {
            arcp__context_no_memory(&engine->context);
            return false;
        }
    }
    *seen = (arcp__seen_request){.hash = hash};
    HASH_ADD_BYHASHVALUE(hh, session->seen, hash, sizeof(seen->hash), (unsigned)hash, seen);
    if (!ARCP__HASH_ADDED(seen)) {
        arcp__free(seen);
        arcp__context_no_memory(&engine->context);
        return false;
    }
    if (session->seen_oldest == NULL) {
        session->seen_oldest = seen;
    } else {
        session->seen_newest->newer = seen;
    }
    session->seen_newest = seen;
    session->seen_count++;
    return true;
}

void arcp__seen_keep_answer(arcp__session *session, uint64_t hash, uint64_t seq, arcp_span frame,
                            arcp_span end)
{
    arcp__seen_request *seen = find_seen(session, hash);
    if (seen == NULL) {
        return;
    }
    seen->answered = true;
    seen->seq = seq;
    if (frame.size + end.size <= SEEN_ANSWER_MAX &&
        arcp_buf_reserve(&seen->answer, frame.size + end.size)) {
        arcp_buf_append(&seen->answer, frame);
        arcp_buf_append(&seen->answer, end);
        seen->end_size = end.size;
        session->seen_bytes += seen->answer.size;
        forget_oldest_texts(session);
    }
}

/* What showed credentials is not kept: asked again, it is read again. */
void arcp__seen_forget_answer(arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = find_seen(session, hash);
    if (seen != NULL) {
        seen->is_repeatable = true;
    }
}

/* Of a kept answer that shows a job's credentials: the job; else "". */
static void answered_job(arcp_span frame, char out[ARCP__ID_SIZE])
{
    arcp_json json = ARCP_JSON_INIT;
    arcp_buf scratch = ARCP_BUF_INIT;
    arcp_json_limits limits = {512, 1000000, SIZE_MAX};
    out[0] = '\0';
    if (arcp_json_scan(&json, frame, &limits, NULL) == ARCP_OK) {
        arcp_json_ref type = arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("type"));
        arcp_span id = arcp_json_string(
            &json, arcp_json_member(&json, ARCP_JSON_ROOT, ARCP_SPAN_LITERAL("job_id")), &scratch);
        if ((arcp_json_string_equals(&json, type, ARCP_SPAN_LITERAL("job.accepted")) ||
             arcp_json_string_equals(&json, type, ARCP_SPAN_LITERAL("job.subscribed"))) &&
            id.size < ARCP__ID_SIZE) {
            memcpy(out, id.data == NULL ? "" : id.data, id.size);
            out[id.size] = '\0';
        }
    }
    arcp_buf_fini(&scratch);
    arcp_json_fini(&json);
}

bool arcp__seen_find(const arcp__session *session, uint64_t hash, bool *is_answered)
{
    const arcp__seen_request *seen = find_seen(session, hash);
    *is_answered = seen != NULL && seen->answered;
    return seen != NULL && !seen->is_repeatable;
}

void arcp__seen_answer_again(arcp__engine *engine, arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = find_seen(session, hash);
    /* A refusal that was not handed out yet comes with its number, after those before it. */
    if (seen != NULL && seen->answer.size != 0 && seen->seq <= session->sent_seq) {
        arcp_span answer = arcp_buf_span(&seen->answer);
        arcp_buf frame = ARCP_BUF_INIT;
        char job_id[ARCP__ID_SIZE];
        arcp_buf_append(&frame, arcp_span_first(answer, answer.size - seen->end_size));
        answered_job(arcp_buf_span(&frame), job_id);
        arcp__session_send_in_order(engine, session, arcp_span_cstr(job_id), &frame);
        /* Whoever asks again may have had the end before the answer, and could not know what it
         * was. */
        if (seen->end_size != 0) {
            (void)arcp__session_append_own(engine, session,
                                           arcp_span_from(answer, answer.size - seen->end_size));
        }
    }
}
