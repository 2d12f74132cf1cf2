/* A set of ids, compared as bytes. One thread at a time; zero-initialise. */
#ifndef ARCP_CORE_ID_SET_H
#define ARCP_CORE_ID_SET_H

#include <stdbool.h>

#include <arcp/span.h>
#include <arcp/visibility.h>

typedef struct arcp__id_set {
    struct arcp__used_id *ids; /* owned; NULL: none */
} arcp__id_set;

bool arcp__id_set_has(const arcp__id_set *set, arcp_span id);
/* Adds a copy of an id that is not in the set. False when out of memory; it is then not added. */
ARCP_MUST_CHECK bool arcp__id_set_add(arcp__id_set *set, arcp_span id);
void arcp__id_set_remove(arcp__id_set *set, arcp_span id);
void arcp__id_set_fini(arcp__id_set *set);

#endif
