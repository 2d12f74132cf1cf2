/* Sessions of TLS that a client goes on with, by host.
 *
 * A session begins with a connection whose certificate was checked for that host's name, and only a
 * server that holds its secret can go on with it. TLS 1.3 gives a new ticket on each connection,
 * and each is used once, so that two connections cannot be seen to be of one client (RFC 8446
 * appendix C.4). */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "stream/tls_parts.h"

enum {
    HOSTS_MAX = 16,
    HOST_SIZE = 256,
    CHECKED_MS_MAX = 10 * 60 * 1000, /* then the certificate is checked again */
};

typedef struct kept {
    char host[HOST_SIZE];
    SSL_SESSION *session; /* owned; NULL: none is kept */
    uint64_t checked_ms;  /* when the certificate was checked */
    uint64_t order;       /* of keeping */
} kept;

struct arcp__tls_sessions {
    kept all[HOSTS_MAX];
    uint64_t count; /* of sessions that were kept so far */
};

arcp__tls_sessions *arcp__tls_sessions_new(void)
{
    return arcp__alloc(sizeof(arcp__tls_sessions));
}

void arcp__tls_sessions_free(arcp__tls_sessions *sessions)
{
    for (size_t i = 0; sessions != NULL && i < HOSTS_MAX; i++) {
        SSL_SESSION_free(sessions->all[i].session);
    }
    arcp__free(sessions);
}

SSL_SESSION *arcp__tls_sessions_take(arcp__tls_sessions *sessions, const char *host,
                                     uint64_t now_ms, uint64_t *checked_ms)
{
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        kept *one = &sessions->all[i];
        SSL_SESSION *session = one->session;
        if (session == NULL || strcmp(one->host, host) != 0) {
            continue;
        }
        if (now_ms - one->checked_ms > CHECKED_MS_MAX || SSL_SESSION_is_resumable(session) == 0) {
            SSL_SESSION_free(session);
            one->session = NULL;
            return NULL;
        }
        *checked_ms = one->checked_ms;
        if (SSL_SESSION_get_protocol_version(session) < TLS1_3_VERSION) {
            (void)SSL_SESSION_up_ref(session); /* there is no other until the next full handshake */
        } else {
            one->session = NULL;
        }
        return session;
    }
    return NULL;
}

bool arcp__tls_sessions_keep(arcp__tls_sessions *sessions, const char *host, SSL_SESSION *session,
                             uint64_t checked_ms)
{
    kept *place = &sessions->all[0];
    if (strlen(host) >= sizeof place->host) {
        return false;
    }
    for (size_t i = 0; i < HOSTS_MAX; i++) {
        kept *one = &sessions->all[i];
        if (strcmp(one->host, host) == 0) {
            place = one;
            break;
        }
        place = one->order < place->order ? one : place;
    }
    SSL_SESSION_free(place->session);
    (void)snprintf(place->host, sizeof place->host, "%s", host);
    place->session = session;
    place->checked_ms = checked_ms;
    place->order = ++sessions->count;
    return true;
}
