/* The reading connection and its thread. */
#ifndef ARCP_STORE_POSTGRES_READER_H
#define ARCP_STORE_POSTGRES_READER_H

#include "store/postgres_connection.h"
#include "store/store_queue.h"

typedef struct arcp__pg_reader {
    arcp__pg pg;
    arcp__store_queue *queue; /* borrowed */
    int64_t patience_ns;
    bool is_failing; /* patience was over: one attempt for each read */
} arcp__pg_reader;

/* The function of the thread; `user` is the reader, whose connection is open. */
void *arcp__pg_reader_run(void *user);

/* Reads a page of rows of a table whose key starts with `prefix`, after the key `after` (at first
 * empty), into the page's arena; the last page has `is_last`. */
arcp__pg_trouble arcp__pg_read_rows(arcp__pg *pg, arcp_store_table table, arcp_span prefix,
                                    arcp_span after, arcp__request *page, arcp_error *err);
/* A page for it; NULL when out of memory. */
arcp__request *arcp__pg_new_page(uint64_t id);

#endif
