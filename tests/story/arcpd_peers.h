/* The peers of a real arcpd: clients on a WebSocket, and agents that relay their lines over a
 * socket. The texts received from each are kept until the story takes them. */
#ifndef ARCP_TESTS_STORY_ARCPD_PEERS_H
#define ARCP_TESTS_STORY_ARCPD_PEERS_H

#include "arcpd/wire.h"

#define PEERS_MAX      64
#define PEER_TEXTS_MAX 64

typedef struct peer {
    char name[64]; /* of the client, or the agent's job */
    wire wire;
    bool speaks_lines; /* an agent */
    char *texts[PEER_TEXTS_MAX];
    unsigned text_count;
} peer;

typedef struct arcpd_peers {
    peer peers[PEERS_MAX];
    int listener; /* of agents */
} arcpd_peers;

/* Agents connect to the socket at `path`. */
void arcpd_peers_begin(arcpd_peers *all, const char *path);
void arcpd_peers_end(arcpd_peers *all);
/* Breaks all connections. */
void arcpd_peers_drop(arcpd_peers *all);

/* The peer with this name, or a new one that is not connected. */
peer *peer_of(arcpd_peers *all, const char *name);
/* Accepts agents until the agent of this job has connected. */
peer *peer_of_job(arcpd_peers *all, const char *job_id);

void peer_connect(peer *p, unsigned short port);
/* Breaks its connection and frees the texts received. */
void peer_drop(peer *p);
void peer_send(peer *p, const char *text);
/* Ends an agent. */
void peer_exit(peer *p, int status);

/* Waits for the index-th text that was not removed; NULL when it does not come. Borrowed. */
const char *peer_text_at(peer *p, unsigned index);
void peer_remove(peer *p, unsigned index);
/* The close code of its connection; 0: it is open. */
int peer_close_code(peer *p);
/* The same, but waits for the close; 0: it did not come. */
int peer_await_close(peer *p);

#endif
