/* A list of texts in the order in which they were received. */
#ifndef ARCP_TESTS_RIG_TEXT_H
#define ARCP_TESTS_RIG_TEXT_H

#include <arcp/span.h>

typedef struct rig_text {
    struct rig_text *next;
    size_t size;
    char text[];
} rig_text;

/* An empty list is NULL; `newest` is the last text of the list, if it has one. */
void rig_text_push(rig_text **list, rig_text **newest, arcp_span text);
/* Takes the oldest text; NULL when there is none. The caller frees it with arcp_free. */
char *rig_text_take(rig_text **list);
void rig_text_clear(rig_text **list);

#endif
