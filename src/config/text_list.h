/* A growing list of owned strings, NULL-terminated once it is not empty. */
#ifndef ARCP_CONFIG_TEXT_LIST_H
#define ARCP_CONFIG_TEXT_LIST_H

#include <arcp/error.h>

typedef struct arcp__text_list {
    char **items;
    size_t count;
} arcp__text_list;

ARCP_MUST_CHECK arcp_status arcp__text_list_add(arcp__text_list *list, const char *text,
                                                arcp_error *err);
void arcp__text_list_clear(arcp__text_list *list);
/* Of texts that may be secrets: wipes them first. */
void arcp__text_list_wipe(arcp__text_list *list);

#endif
