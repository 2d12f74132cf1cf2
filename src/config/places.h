/* Where in the configuration file a value stands, for what is found to be wrong with it after the
 * file was read. A value of a flag has no place. */
#ifndef ARCP_CONFIG_PLACES_H
#define ARCP_CONFIG_PLACES_H

#include <arcp/error.h>

typedef struct arcp__config_place {
    char *key; /* its path: agents[0].name */
    size_t line;
} arcp__config_place;

typedef struct arcp__config_places {
    char *file; /* NULL: no file was read */
    arcp__config_place *rows;
    size_t count;
} arcp__config_places;

void arcp__config_places_fini(arcp__config_places *places);

/* Copies the key. */
ARCP_MUST_CHECK arcp_status arcp__config_places_add(arcp__config_places *places, const char *key,
                                                    size_t line, arcp_error *err);
/* A flag has replaced the value, and the items of a list. */
void arcp__config_places_forget(arcp__config_places *places, const char *key);

/* What a message about a value begins with: "FILE:LINE: KEY", or without a place the key, for an
 * item of a list the list's. */
typedef struct arcp__config_name {
    char text[512];
} arcp__config_name;

ARCP_PRINTF(2, 3)
arcp__config_name arcp__config_name_of(const arcp__config_places *places, const char *format, ...);

#endif
