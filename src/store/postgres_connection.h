/* A connection to PostgreSQL, always in pipeline mode and non-blocking. All waiting has a deadline.
 *
 * A connection that is lost, does not answer in time, or has said a WARNING is closed without a
 * cancellation: whether its last transaction was committed is then unknown. */
#ifndef ARCP_STORE_POSTGRES_CONNECTION_H
#define ARCP_STORE_POSTGRES_CONNECTION_H

#include <libpq-fe.h>

#include <arcp/error.h>
#include <arcp/span.h>

#include "store/postgres_array.h"

/* The prepared statements: rows of postgres_statement.def. */
typedef enum arcp__pg_statement {
#define ARCP__PG_STATEMENT(name, text) ARCP__PG_##name,
#include "store/postgres_statement.def"
#undef ARCP__PG_STATEMENT
    ARCP__PG_STATEMENT_COUNT
} arcp__pg_statement;

/* What became of a statement. */
typedef enum arcp__pg_trouble {
    ARCP__PG_FINE,
    ARCP__PG_FENCED, /* by arcp.fence (SQLSTATE ARCP1) */
    ARCP__PG_LOCKED, /* lock_timeout */
    ARCP__PG_FAILED, /* nothing is applied; it may succeed in another transaction */
    ARCP__PG_LOST    /* unknown: reconnect */
} arcp__pg_trouble;

typedef struct arcp__pg {
    const char *url;  /* borrowed */
    char name[64];    /* application_name */
    PGconn *conn;     /* NULL: closed */
    bool is_doubtful; /* there was a WARNING */
    int64_t answer_ns;
} arcp__pg;

/* Checks the URL: ARCP_E_USAGE. */
arcp_status arcp__pg_check_url(const char *url, arcp_error *err);

/* Connects to the first host that accepts writes, and prepares the statements with `prepares`.
 * ARCP_E_IO, ARCP_E_USAGE: the server cannot be used. */
arcp_status arcp__pg_connect(arcp__pg *pg, bool prepares, arcp_error *err);
void arcp__pg_close(arcp__pg *pg);

/* Sends a statement, and the end of a transaction. False: the connection is lost. */
bool arcp__pg_send(arcp__pg *pg, arcp__pg_statement statement, arcp__pg_array *params,
                   size_t count);
bool arcp__pg_sync(arcp__pg *pg);
/* Writes what waits. */
bool arcp__pg_flush(arcp__pg *pg);

typedef enum arcp__pg_wait {
    ARCP__PG_RESULT, /* *out is the caller's */
    ARCP__PG_WOKEN,  /* wake_fd is readable */
    ARCP__PG_BROKEN  /* closed, or no answer until the deadline */
} arcp__pg_wait;

/* Waits for the next result until a time of CLOCK_MONOTONIC, or longer while bytes go to the server
 * or come from it without a pause of answer_ns. wake_fd: -1, or another descriptor to
 * wait for. */
arcp__pg_wait arcp__pg_next(arcp__pg *pg, int64_t deadline_ns, int wake_fd, PGresult **out,
                            arcp_error *err);
/* What a result says. `err` is set unless it is FINE. */
arcp__pg_trouble arcp__pg_judge(arcp__pg *pg, const PGresult *result, arcp_error *err);

/* Runs one statement as a transaction of its own, or between BEGIN and COMMIT, and waits for its
 * answer. `values` are texts. *out (may be NULL) is the caller's, and NULL if it is not FINE. */
arcp__pg_trouble arcp__pg_run(arcp__pg *pg, const char *sql, const char *const *values,
                              size_t count, PGresult **out, arcp_error *err);
/* The same for a prepared statement. */
arcp__pg_trouble arcp__pg_run_prepared(arcp__pg *pg, arcp__pg_statement statement,
                                       arcp__pg_array *params, size_t count, PGresult **out,
                                       arcp_error *err);
/* Ends the sessions of this user whose application_name is LIKE `names`, except this one. */
arcp__pg_trouble arcp__pg_end_sessions(arcp__pg *pg, const char *names, arcp_error *err);

static inline arcp_span arcp__pg_text(const PGresult *result, int row, int column)
{
    return arcp_span_make(PQgetvalue(result, row, column),
                          (size_t)PQgetlength(result, row, column));
}

/* An integer of two, four or eight bytes of a binary result. */
int64_t arcp__pg_integer(const PGresult *result, int row, int column);

#endif
