/* The control socket of a sandbox, at the process that started it: records, and the sockets
 * that come with `listeners`. What comes from there is checked, because the program inside may have
 * broken arcp-sandbox. No waiting. One thread.
 *
 * Records are datagrams, {"listeners": N, "more": true} with N descriptors, without "more" in the
 * last one, and with "secret" when it is the proxy of level landlock; others are for the caller and
 * carry none. A record that is refused is closed with what came with it, and the ones behind it are
 * read. */
#ifndef ARCP_LAUNCH_LAUNCHER_CONTROL_H
#define ARCP_LAUNCH_LAUNCHER_CONTROL_H

#include <stdbool.h>
#include <stddef.h>

#include <arcp/error.h>
#include <arcp/span.h>

#define ARCP__LAUNCH_RECORD_MAX    65536
#define ARCP__LAUNCH_LISTENERS_MAX 512
#define ARCP__LAUNCH_SECRET_MAX    64

typedef struct arcp__launch_control_events {
    /* A record that is one JSON object; valid during the call. */
    void (*record)(void *user, arcp_span record);
    /* The sockets of the sandbox's network, once: all that `listeners` records announced, each
     * checked to be a listening TCP socket or a bound UDP socket. The callee owns them. They come
     * before `running`; a plan without ports has none. */
    void (*listeners)(void *user, const int *sockets, size_t count);
    /* A record was refused, and why: one line, static. One that announced listeners leaves the
     * sandbox without its network. May be NULL. */
    void (*refused)(void *user, const char *reason);
    /* The other end is closed. The descriptor is closed when this returns: a loop stops watching it
     * here, because a process that was forked meanwhile may have it still, and the loop would get
     * its events for whatever has its number next. May be NULL. */
    void (*ended)(void *user);
    void *user;
} arcp__launch_control_events;

typedef struct arcp__launch_control {
    int fd; /* owned; -1: ended */
    bool has_listeners;
    arcp__launch_control_events events;
    int sockets[ARCP__LAUNCH_LISTENERS_MAX]; /* until the last `listeners` record */
    size_t socket_count;
    /* Of a proxy that other programs of this host can connect to, when the sockets come: what each
     * request must carry. Empty: they cannot. */
    char secret[ARCP__LAUNCH_SECRET_MAX + 1];
} arcp__launch_control;

/* Takes over the descriptor. */
void arcp__launch_control_init(arcp__launch_control *control, int fd,
                               const arcp__launch_control_events *events);

/* Takes all that has arrived, at most 64 records; false when the other end is closed (or broken:
 * then it is closed here). The events may not free the control. */
bool arcp__launch_control_take(arcp__launch_control *control);

/* What is sent down, once, to a sandbox whose plan is late, with the plan that has the lease in a
 * sealed file. It answers with the record `leased`. */
#define ARCP__LAUNCH_LEASE_TEXT "{\"lease\":true}"

/* Sends the lease; never waits. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__launch_control_lease(const arcp__launch_control *control,
                                                       arcp_span plan, arcp_error *err);

/* What is sent down, once, when the lease grants nothing any more: the broker then
 * denies what it served. */
#define ARCP__LAUNCH_REVOKE_TEXT "{\"revoke\":true}"

/* Revokes the lease; never waits. Nothing happens to a sandbox that has ended. ARCP_E_IO. */
ARCP_MUST_CHECK arcp_status arcp__launch_control_revoke(const arcp__launch_control *control,
                                                        arcp_error *err);

/* Closes the descriptor and the sockets that were not passed on. */
void arcp__launch_control_fini(arcp__launch_control *control);

#endif
