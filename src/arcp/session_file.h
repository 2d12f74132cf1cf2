/* What `arcp submit` leaves for `arcp cancel`: its session, resume token and jobs, one file per
 * session under the state directory, mode 0600.
 *
 * Two processes may hold one session: the submit that follows its job, and a cancel that
 * borrows the session for a moment. Whoever resumes holds the file's lock from before the
 * attempt until the new resume token is in the file, so that no one presents a token that the
 * other has just replaced. The submit never waits for the lock (it asks again a little later);
 * the cancel does.
 *
 * The functions may be called from any thread. */
#ifndef ARCP_ARCP_SESSION_FILE_H
#define ARCP_ARCP_SESSION_FILE_H

#include <arcp/client.h>

typedef struct arcp__session_file arcp__session_file;

/* A session of this process, not on disk yet. `directory` (the state directory) is borrowed
 * for the call. NULL when out of memory. */
ARCP_MUST_CHECK arcp__session_file *arcp__session_file_new(arcp_span directory, arcp_span url);

/* The saved session that submitted `job`: the youngest file of this URL that names it.
 * ARCP_E_NOT_FOUND. The lock is not taken. */
ARCP_MUST_CHECK arcp_status arcp__session_file_find(arcp_span directory, arcp_span url,
                                                    arcp_span job, arcp__session_file **out,
                                                    arcp_error *err);

/* Frees the memory and gives back the lock; the file stays. NULL is accepted. */
void arcp__session_file_free(arcp__session_file *file);

/* Removes files that nobody can use any more: older than `seconds`. Errors are ignored. */
void arcp__session_file_sweep(arcp_span directory, int64_t seconds);

/* Takes the lock, without waiting; true when it is (or was already) ours. */
bool arcp__session_file_lock(arcp__session_file *file);
void arcp__session_file_unlock(arcp__session_file *file);

/* Reads what another process may have written meanwhile. */
ARCP_MUST_CHECK arcp_status arcp__session_file_reload(arcp__session_file *file, arcp_error *err);

/* What a resume needs; spans live until the next call that changes the file. */
arcp_session_state arcp__session_file_state(const arcp__session_file *file);

/* Notes the session and writes the file when it is to be kept (see add_job). */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_session(arcp__session_file *file,
                                                           const arcp_session_state *state,
                                                           arcp_error *err);
/* From the first job on the file is kept on disk. */
ARCP_MUST_CHECK arcp_status arcp__session_file_add_job(arcp__session_file *file, arcp_span job,
                                                       arcp_error *err);
/* Everything up to event_seq is dealt with; to be called before it is acknowledged. */
ARCP_MUST_CHECK arcp_status arcp__session_file_set_seq(arcp__session_file *file, uint64_t event_seq,
                                                       arcp_error *err);
/* The session is of no more use: removes the file. */
void arcp__session_file_remove(arcp__session_file *file);

#endif
