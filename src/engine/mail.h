/* Mail: what a job tells the sessions that observe it. Delivered in order after the input that
 * caused it, never from inside the sender. */
#ifndef ARCP_ENGINE_MAIL_H
#define ARCP_ENGINE_MAIL_H

#include "engine/state.h"

typedef enum arcp__mail_kind {
    ARCP__MAIL_RECORD,   /* a new record at `position` */
    ARCP__MAIL_CATCH_UP, /* go on numbering history */
    ARCP__MAIL_END       /* number the job's end once more */
} arcp__mail_kind;

struct arcp__mail {
    arcp__mail_kind kind;
    arcp__observation *observation; /* NULL: it is gone */
    uint64_t position;
    size_t bytes;
    arcp_feature feature; /* needed to see the record */
};

/* Goes on numbering history. */
void arcp__mail_catch_up(arcp__engine *engine, arcp__observation *observation);
/* Numbers the job's end once more, for a client that has forgotten it (peer profiles). */
void arcp__mail_end(arcp__engine *engine, arcp__observation *observation);
/* All of it, also what is posted meanwhile. */
void arcp__mail_deliver(arcp__engine *engine);

#endif
