/* Requests of a session that were seen before: the same envelope id again executes nothing,
 * and gets the answer that it got. */
#include "session/session_state.h"

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

/* The key is a hash already. */
static arcp__seen_request *find_seen(const arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = NULL;
    HASH_FIND_BYHASHVALUE(hh, session->seen, &hash, sizeof(hash), (unsigned)hash, seen);
    return seen;
}

bool arcp__seen_add(arcp__sessions *sessions, arcp__session *session, uint64_t hash)
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
            arcp__context_no_memory(sessions->context);
            return false;
        }
    }
    *seen = (arcp__seen_request){.hash = hash};
    HASH_ADD_BYHASHVALUE(hh, session->seen, hash, sizeof(seen->hash), (unsigned)hash, seen);
    if (!ARCP__HASH_ADDED(seen)) {
        arcp__free(seen);
        arcp__context_no_memory(sessions->context);
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
        while (session->seen_bytes > SEEN_BYTES_MAX) {
            if (session->seen_kept == NULL) {
                session->seen_kept = session->seen_oldest;
            }
            forget_text(session, session->seen_kept);
            session->seen_kept = session->seen_kept->newer;
        }
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

bool arcp__seen_find(const arcp__session *session, uint64_t hash, bool *is_answered)
{
    const arcp__seen_request *seen = find_seen(session, hash);
    *is_answered = seen != NULL && seen->answered;
    return seen != NULL && !seen->is_repeatable;
}

arcp__seen_answer arcp__seen_answer_of(const arcp__session *session, uint64_t hash)
{
    const arcp__seen_request *seen = find_seen(session, hash);
    if (seen == NULL || seen->answer.size == 0 || seen->seq > session->sent_seq) {
        return (arcp__seen_answer){0};
    }
    const arcp_span answer = arcp_buf_span(&seen->answer);
    const size_t size = answer.size - seen->end_size;
    return (arcp__seen_answer){.frame = arcp_span_first(answer, size),
                               .end = arcp_span_from(answer, size)};
}
