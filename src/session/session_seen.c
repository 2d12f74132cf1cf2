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

arcp__seen_request *arcp__seen_find(const arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = NULL; /* the key is a hash already */
    HASH_FIND_BYHASHVALUE(hh, session->seen, &hash, sizeof(hash), (unsigned)hash, seen);
    return seen;
}

bool arcp__seen_add(arcp__sessions *sessions, arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = NULL;
    if (arcp__seen_find(session, hash) != NULL) {
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
    arcp__seen_request *seen = arcp__seen_find(session, hash);
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

void arcp__seen_forget_answer(arcp__session *session, uint64_t hash)
{
    arcp__seen_request *seen = arcp__seen_find(session, hash);
    if (seen != NULL) {
        seen->is_repeatable = true;
    }
}
