/* The state of the crash test: clients with all frames that they received, and the known jobs. */
#ifndef ARCP_TESTS_ARCPD_CRASH_FIXTURE_H
#define ARCP_TESTS_ARCPD_CRASH_FIXTURE_H

#include "arcpd/daemon.h"
#include "arcpd/wire.h"
#include "base/hash.h"

#define CRASH_CLIENTS 8u

typedef enum crash_end { CRASH_RUNS, CRASH_RESULT, CRASH_LOST, CRASH_ERROR } crash_end;

/* One idempotency key, and its submit. */
typedef struct crash_job crash_job;
typedef struct crash_key {
    unsigned client; /* that submitted it first */
    unsigned life;   /* in which it was submitted first */
    unsigned events, bytes, pause_us;
    const char *end;
    crash_job *job; /* NULL until a response was received */
    char accepted_at[32];
} crash_key;

struct crash_job {
    char id[40];
    UT_hash_handle hh;
    unsigned life; /* in which it was first asked for */
    bool waits;    /* its agent does not end by itself, and no client cancelled it */
    crash_end end; /* as far as a client saw */
    uint64_t end_digest;
    unsigned listed_life;
    bool observes[CRASH_CLIENTS]; /* it got job.subscribed: the end is due */
    uint64_t end_seq[CRASH_CLIENTS];
    uint64_t messages[CRASH_CLIENTS]; /* of the agent, seen so far */
};

typedef struct crash_client {
    unsigned number;
    const char *token;
    bool acks;
    wire wire;
    wire_session session; /* id is empty: none yet */
    bool is_open;         /* the welcome has come on this connection */
    bool has_asked;       /* hello is under way */
    uint64_t last_seq;    /* on this connection */
    uint64_t acked_seq;
    uint64_t seen_count; /* highest event_seq that was ever seen */
    uint64_t *digests;   /* owned; [seq - 1], 0: not seen */
    size_t digest_capacity;
} crash_client;

typedef struct crash_fixture {
    daemon_state daemon;
    void (*cut)(void); /* loses the database for a moment; NULL: it is a file */
    uint64_t random;
    unsigned life;
    crash_client clients[CRASH_CLIENTS];
    crash_job *jobs;
    crash_key *keys; /* owned */
    size_t key_count, key_capacity;
    uint64_t subscribed;                              /* job.subscribed responses */
    uint64_t frames, again, resumes, listed, checked; /* for the report */
} crash_fixture;

/* A number below `limit`. */
uint64_t crash_random(crash_fixture *f, uint64_t limit);

/* ---- crash_client.c ---- */
void crash_client_begin(crash_fixture *f, unsigned number);
void crash_client_end(crash_client *client);
/* Connects and opens or resumes its session, from a point that the client chooses. */
void crash_client_connect(crash_fixture *f, crash_client *client, bool from_oldest);
/* Takes the frames that have arrived; each must be consistent with all earlier ones. */
void crash_client_take(crash_fixture *f, crash_client *client);
/* Sends a request that is chosen at random. */
void crash_client_act(crash_fixture *f, crash_client *client);
/* Asks for a key again; the answer must name the same job. */
void crash_client_ask_again(crash_fixture *f, crash_client *client, size_t number);
/* Whether the client still waits for the end of a job that it observes. */
bool crash_client_awaits_end(const crash_fixture *f, const crash_client *client);

/* ---- crash_store.c ---- */
/* Compares everything that was seen with what the database holds. arcpd must not run. */
void crash_store_check(crash_fixture *f);

#endif
