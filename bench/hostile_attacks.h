/* Attacks of a hostile principal or of an unauthenticated peer on an arcpd. Each is a process of
 * its own that ends by itself. */
#ifndef ARCP_BENCH_HOSTILE_ATTACKS_H
#define ARCP_BENCH_HOSTILE_ATTACKS_H

#include "arcpd/daemon.h"

typedef struct hostile_attack {
    const char *name;
    const char *config; /* of the daemon; NULL: its defaults */
    /* Called in the parent before the measured time begins; NULL: nothing. */
    void (*prepare)(const daemon_state *d, bool is_quick);
    /* Runs until a signal ends it; NULL: nothing is done. */
    void (*run)(const daemon_state *d);
} hostile_attack;

/* The first one is not an attack: it measures the ordinary case. */
extern const hostile_attack hostile_attacks[];
extern const unsigned hostile_attack_count;

#endif
