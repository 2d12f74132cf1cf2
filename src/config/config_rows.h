/* How rows of configuration tables are written, for the files that have some. */
#ifndef ARCP_CONFIG_CONFIG_ROWS_H
#define ARCP_CONFIG_CONFIG_ROWS_H

#include "config/config.h"

#define RESTART ARCP__CONFIG_RESTART
#define SECRET  ARCP__CONFIG_SECRET
#define SPARSE  ARCP__CONFIG_SPARSE
#define NAMES   ARCP__CONFIG_NAMES

#define ROW(name, kind, owner, member) ARCP__CONFIG_ROW(name, kind, owner, member)
#define LIST(name, owner, member, counted, its_item)                                               \
    ARCP__CONFIG_LIST(name, list, owner, member, counted, its_item)
#define PAIRS(name, owner, member, counted, kind)                                                  \
    ARCP__CONFIG_LIST(name, pairs, owner, member, counted, &arcp__config_##kind##_item)
#define TEXTS(name, owner, member, counted)                                                        \
    LIST(name, owner, member, counted, &arcp__config_text_item)
#define ROWS(array) .rows = (array), .count = sizeof(array) / sizeof((array)[0])
/* A group of keys. Their values are in the same struct as those of the rows around it. */
#define GROUP(name, ...)                                                                           \
    .key = (name), .type = &arcp__config_group, .fields = &(const arcp__config_fields)             \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
/* The item of a list of structs. */
#define ITEM(owner, ...) GROUP("", __VA_ARGS__), .size = sizeof(owner)
/* A group whose rows are in another file. */
#define GROUPED(name, its_fields)                                                                  \
    .key = (name), .type = &arcp__config_group, .fields = &(its_fields)

#endif
