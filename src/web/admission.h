/* Which connections are pending, for listeners: the counting behind arcp_admission. */
#ifndef ARCP_WEB_ADMISSION_H
#define ARCP_WEB_ADMISSION_H

#include <stdbool.h>

#include <netinet/in.h>

#include <arcp/sys/admission.h>

/* Closes a pending connection, which must call arcp__admission_leave before it returns. `why` is
 * static. */
typedef void (*arcp__evict_fn)(void *user, const char *why);

/* A connection that is counted, pending or not. Lives in the owner of the connection; moves by
 * arcp__admission_move. Zero: it is not counted. */
typedef struct arcp__counted {
    arcp_admission *admission;  /* referenced; NULL: not counted */
    struct arcp__counted *prev; /* of the pending ones */
    struct arcp__counted *next;
    size_t bytes; /* that it has sent while it is pending */
    arcp__evict_fn close;
    void *user;
    struct in6_addr peer; /* as in arcp__socket_peer */
    bool is_pending;
} arcp__counted;

arcp_admission *arcp__admission_ref(arcp_admission *admission);
uint32_t arcp__admission_timeout_ms(const arcp_admission *admission);

/* Counts one more connection, for which others may be evicted; it is pending, and `close` is called
 * with `user` to evict it. False, and *why, when there is no room. */
bool arcp__admission_enter(arcp_admission *admission, const struct in6_addr *peer,
                           arcp__evict_fn close, void *user, arcp__counted *out, const char **why);
/* A pending connection sent so many more bytes. False when it was evicted for that itself: nothing
 * of it may be used any more but its memory. */
bool arcp__admission_note_bytes(arcp__counted *counted, size_t bytes);
/* It is pending again, as the youngest: others may have its place. Nothing when it is pending. */
void arcp__admission_suspend(arcp__counted *counted);
/* It is not pending any more. Nothing when it was not. */
void arcp__admission_admit(arcp__counted *counted);
/* `from` is not counted any more, `to` is in its stead, with the same age and a new owner. */
void arcp__admission_move(arcp__counted *from, arcp__counted *to, arcp__evict_fn close, void *user);
/* It is gone. Nothing when it was not counted. */
void arcp__admission_leave(arcp__counted *counted);

#endif
