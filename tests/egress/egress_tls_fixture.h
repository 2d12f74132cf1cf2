/* A client inside and a server outside that speak TLS, at a job whose TLS is terminated. */
#ifndef ARCP_TESTS_EGRESS_TLS_FIXTURE_H
#define ARCP_TESTS_EGRESS_TLS_FIXTURE_H

#include <openssl/ssl.h>

#include "egress/egress_fixture.h"
#include "transport/tls_files.h"

#define LEASE                                                                                      \
    "[\"https://localhost:PORT/v1/**\", \"wss://localhost:PORT/chat\", "                           \
    "\"https://api.test:PORT/v1/*\", \"https://other.test:PORT/**\", "                             \
    "\"http://localhost:PORT/**\"]"
#define HOST "Host: localhost:PORT\r\n"
#define GET  "GET /v1/a HTTP/1.1\r\n" HOST
#define OK   "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

typedef struct tls_peer {
    raw_peer *raw;
    SSL_CTX *context;
    SSL *ssl;
    arcp_buf received; /* what was inside */
    bool is_secured;
    bool has_failed; /* the handshake, or the peer has sent an alert */
} tls_peer;

/* With which servers encrypt the sessions that they give away: one that has another one cannot go
 * on with them. And the latest version that they speak; 0: that of OpenSSL. */
extern unsigned char tls_server_secret[80];
extern int tls_server_version;

void tls_peer_open(tls_peer *peer, raw_peer *raw, SSL_CTX *context);
/* A client inside that trusts the job's authority; `name` NULL: without a server name. */
void tls_client(tls_peer *peer, egress_fixture *f, const char *name);
/* A server outside, at the connection that egress makes. */
void tls_server(tls_peer *peer, egress_fixture *f, const char *certificate, const char *key);

/* Waits for the end of the client's handshake. */
void tls_shake(egress_fixture *f, tls_peer *client);
/* Each PORT in the text is the server's port. */
void tls_send(egress_fixture *f, tls_peer *peer, const char *text);
/* Waits until the peer, one of the two, has received so much; `server` may be NULL. */
void tls_receive(egress_fixture *f, tls_peer *client, tls_peer *server, const tls_peer *peer,
                 size_t size);
/* Waits until it has received a text, and forgets what it has received. */
void tls_expect(egress_fixture *f, tls_peer *client, tls_peer *server, tls_peer *peer,
                const char *text);
/* The same with nothing before the text or behind it. */
void tls_expect_exactly(egress_fixture *f, tls_peer *client, tls_peer *server, tls_peer *peer,
                        const char *text);

/* Opens a job, and a client that has made TLS to localhost inside. */
void tls_open_inside(egress_fixture *f, tls_peer *client);
/* The same; the client sends a request, and the server is there. */
void tls_open_both(egress_fixture *f, tls_peer *client, tls_peer *server, const char *request);
/* A request of a new client, and its response by a new connection to the server: whether that
 * connection went on with a session of an earlier one. */
bool tls_exchange(egress_fixture *f);
/* `server` may be NULL. */
void tls_close_both(egress_fixture *f, tls_peer *client, tls_peer *server);

#endif
