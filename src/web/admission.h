/* Counts the connections of listeners, and those of them that are pending; see arcp_admission. */
#ifndef ARCP_WEB_ADMISSION_H
#define ARCP_WEB_ADMISSION_H

#include <stdbool.h>

#include <netinet/in.h>

#include <arcp/sys/admission.h>

/* Closes a pending connection; must call arcp__admission_leave before it returns. `why` is static.
 */
typedef void (*arcp__evict_fn)(void *user, const char *why);

/* The entry of a counted connection, pending or not. Part of the connection's owner;
 * arcp__admission_move moves it to another owner. All zero: not counted. */
typedef struct arcp__counted {
    arcp_admission *admission;  /* referenced; NULL: not counted */
    struct arcp__counted *prev; /* in the list of pending connections */
    struct arcp__counted *next;
    size_t bytes; /* received from it while pending */
    arcp__evict_fn close;
    void *user;
    struct in6_addr peer; /* as in arcp__socket_peer */
    bool is_pending;
} arcp__counted;

arcp_admission *arcp__admission_ref(arcp_admission *admission);
uint32_t arcp__admission_timeout_ms(const arcp_admission *admission);

/* Counts a new connection as pending, after evicting others if necessary; `close` is called with
 * `user` to evict it. False, and *why, when the limits leave no place for it. */
bool arcp__admission_enter(arcp_admission *admission, const struct in6_addr *peer,
                           arcp__evict_fn close, void *user, arcp__counted *out, const char **why);
/* Adds bytes received from a pending connection. False when this connection was itself evicted for
 * them: only its memory is still valid. */
bool arcp__admission_note_bytes(arcp__counted *counted, size_t bytes);
/* Makes it pending again, as the newest. Does nothing if it is pending. */
void arcp__admission_suspend(arcp__counted *counted);
/* Ends the pending state. Does nothing if it is not pending. */
void arcp__admission_admit(arcp__counted *counted);
/* Moves the entry to another owner; the connection keeps its age. */
void arcp__admission_move(arcp__counted *from, arcp__counted *to, arcp__evict_fn close, void *user);
/* Stops counting it. Does nothing if it is not counted. */
void arcp__admission_leave(arcp__counted *counted);

#endif
