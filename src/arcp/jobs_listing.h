/* A listing of `arcp jobs`. */
#ifndef ARCP_ARCP_JOBS_LISTING_H
#define ARCP_ARCP_JOBS_LISTING_H

#include "arcp/jobs.h"
#include "arcp/operator.h"

typedef struct arcp__jobs_listing {
    arcp__program *program;
    arcp_list_options options; /* statuses, agent, times */
    char since_room[ARCP__TIMESTAMP_SIZE], until_room[ARCP__TIMESTAMP_SIZE];
    arcp__format format;
    bool is_oldest;
    const char *text, *code; /* NULL: any */
    const char *principals;  /* a glob; NULL: the own principal */
    arcp_buf parent;         /* an id; empty: any */
    int64_t now_wall_ns;
    size_t columns; /* of the terminal; 0: standard output is none */
    bool has_header;
    bool is_open; /* standard output */

    /* The rows that are kept, as JSON. Those of a runtime that lists the oldest first are a ring,
     * of which the row `seen % limit` is the oldest. */
    size_t limit;
    arcp_buf *rows;
    size_t row_count, row_capacity;
    bool is_newest_first; /* the order of the rows */
    uint64_t seen;        /* rows that the filters let pass */
    uint64_t hidden;      /* of them, those that are not kept */
} arcp__jobs_listing;

/* ---- command_jobs.c ---- */
/* Adds a row to those that are kept. False when out of memory. */
ARCP_MUST_CHECK bool arcp__jobs_keep(arcp__jobs_listing *l, arcp_span row);
void arcp__jobs_clear(arcp__jobs_listing *l);
/* Prints a row; `is_change`: unless the filters leave it out. False: it could not be written. */
bool arcp__jobs_print(arcp__jobs_listing *l, arcp_span row, bool is_change);
/* Prints the rows that are kept, the newest one last, and how many are not. */
bool arcp__jobs_print_all(arcp__jobs_listing *l);

/* ---- jobs_view.c ---- */
/* Reads the rows that are asked for. */
ARCP_MUST_CHECK arcp_status arcp__jobs_read_view(arcp__jobs_listing *l, arcp_client *client,
                                                 arcp_error *err);
/* Prints them, and then each job that changes, until standard output is closed. Returns the exit
 * status. */
int arcp__jobs_follow(arcp__jobs_listing *l, arcp_client *client);

#endif
