/* Signing in a browser (docs/protocol.md, The view). A page must not keep the token that was typed
 * into it, and a link must not contain one. So there are two secrets that stand for a token, both a
 * bearer of session.hello:
 *
 * - A code is made by the request x-vendor.arcpd.page of a session that a token opened. It is valid
 *   once, for a minute, and belongs into a link.
 * - A key is in the welcome of a session that asks for the feature x-vendor.arcpd.page_key and was
 *   opened by a token or a code. It is valid for 12 hours, and for one hour without use.
 *
 * They give the principal and the role that the token gave. Only their hashes are kept; those of
 * keys are rows of META, so that a page stays signed in when arcpd is started again. All end when
 * what opened the session is not valid any more, which the owner finds out (arcp__page_key_look),
 * a key also when its page signs out (session.close), when an operator ends its session, and when a
 * principal gets more than 100 keys. A key makes neither codes nor keys. Private to src/session. */
#ifndef ARCP_SESSION_PAGE_KEY_H
#define ARCP_SESSION_PAGE_KEY_H

#include "session/session_state.h"

#define ARCP__PAGE_CODE_SEC       60
#define ARCP__PAGE_KEY_SEC        43200 /* 12 hours */
#define ARCP__PAGE_KEY_IDLE_SEC   3600
#define ARCP__PAGE_KEYS_MAX       100 /* codes included, of a principal */
#define ARCP__PAGE_CODES_WRONG    10  /* in a minute; after that no code is taken until its end */
#define ARCP__PAGE_KEYS_TOTAL_MAX 10000

/* False: the token is a code, and too many wrong ones were tried. */
bool arcp__page_may_try(arcp__sessions *sessions, arcp_span token);

/* Uses up a code, or uses a key. ARCP_E_UNAUTHENTICATED in out->status if it is not valid.
 * out->principal is valid until the next call here. */
void arcp__page_authenticate(arcp__sessions *sessions, arcp_span token, arcp__authentication *out);

/* Makes a key for the session and appends it to `out`, a secret buffer. Does nothing if its client
 * did not ask for one, or must not have one. */
void arcp__page_key_make(arcp__sessions *sessions, arcp__session *session, arcp_buf *out);

/* Ends the codes and keys of a principal. */
void arcp__page_keys_end(arcp__sessions *sessions, arcp_span principal);

/* The session's page has sent something, so its key is in use. */
void arcp__page_key_use(arcp__sessions *sessions, const arcp__session *session);

/* Ends the session's key, if it has one. */
void arcp__page_key_end(arcp__sessions *sessions, arcp__session *session);

#endif
