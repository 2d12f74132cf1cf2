/* What a hostile principal or a stranger does to an arcpd over the wire, each as a process of its
 * own that ends by itself. */
#ifndef ARCP_BENCH_HOSTILE_ATTACKS_H
#define ARCP_BENCH_HOSTILE_ATTACKS_H

#include "arcpd/daemon.h"

typedef struct hostile_attack {
    const char *name;
    const char *config; /* of the daemon; NULL: its defaults */
    /* Before the time begins, in the parent; NULL: nothing. */
    void (*prepare)(const daemon_state *d, bool is_quick);
    /* Goes on until a signal ends it; NULL: nothing is done. */
    void (*run)(const daemon_state *d);
} hostile_attack;

/* The first one is no attack: it tells what is ordinary. */
extern const hostile_attack hostile_attacks[];
extern const unsigned hostile_attack_count;

#endif
