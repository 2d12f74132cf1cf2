/* The other ends of a real arcpd: clients on a WebSocket, agents that relay their lines over a
 * socket; and what came from each, kept until the story takes it. */
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
/* Everybody's connection breaks. */
void arcpd_peers_drop(arcpd_peers *all);

/* The one of this name, or a new one that is not connected. */
peer *peer_of(arcpd_peers *all, const char *name);
/* Accepts agents until the one of this job is there. */
peer *peer_of_job(arcpd_peers *all, const char *job_id);

void peer_connect(peer *p, unsigned short port);
/* Its connection breaks, and nothing is kept of what came. */
void peer_drop(peer *p);
void peer_say(peer *p, const char *text);
/* Ends an agent. */
void peer_exit(peer *p, int status);

/* The index-th text that was not taken yet, waited for; NULL: there is none. Borrowed. */
const char *peer_peek(peer *p, unsigned index);
void peer_remove(peer *p, unsigned index);
/* How its connection was closed; 0: it is open. */
int peer_close_code(peer *p);
/* The same, waited for. */
int peer_await_close(peer *p);

#endif
