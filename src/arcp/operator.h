/* What the commands of operators share. */
#ifndef ARCP_ARCP_OPERATOR_H
#define ARCP_ARCP_OPERATOR_H

#include <arcp/watch.h>

#include "cli/cli.h"
#include "json/json.h"

/* ---- operator_ask.c ---- */

/* The response to a request of arcpd. */
typedef struct arcp__asked {
    arcp_json json; /* the payload */
    arcp_buf text;
} arcp__asked;

/* Sends x-vendor.arcpd.NAME with a payload (empty: {}), and reads the response into *out, which the
 * caller frees in any case. ARCP_E_INVALID_REQUEST: this runtime does not know the request. */
ARCP_MUST_CHECK arcp_status arcp__ask(arcp_client *client, const char *name, arcp_span payload,
                                      arcp__asked *out, arcp_error *err);
/* The same with a payload that may have failed: then ARCP_E_NO_MEMORY. */
ARCP_MUST_CHECK arcp_status arcp__ask_buf(arcp_client *client, const char *name,
                                          const arcp_buf *payload, arcp__asked *out,
                                          arcp_error *err);
void arcp__asked_fini(arcp__asked *asked);

/* A string of an object of the response, with its escapes; empty when it is missing. Valid as long
 * as the response. */
arcp_span arcp__asked_text(const arcp__asked *asked, arcp_json_ref object, const char *name);
/* Appends the text of a string of an object of the response, safe for a terminal; nothing when it
 * is missing. */
void arcp__asked_append(const arcp__asked *asked, arcp_json_ref object, const char *name,
                        size_t bytes_max, arcp_buf *out);
/* False when it is missing. */
bool arcp__asked_number(const arcp__asked *asked, arcp_json_ref object, const char *name,
                        uint64_t *out);

/* Reads all pages of a request with the members limit, cursor and next_cursor. `payload` begins
 * with
 * "{" and has no closing brace; `rows` is the member with the rows. `each` returns false to end. */
ARCP_MUST_CHECK arcp_status arcp__ask_pages(
    arcp_client *client, const char *name, const char *payload, const char *rows,
    bool (*each)(void *user, arcp__asked *page, arcp_json_ref row), void *user, arcp_error *err);

/* The same from behind the cursor `from` on; "": from the beginning. */
ARCP_MUST_CHECK arcp_status arcp__ask_pages_from(
    arcp_client *client, const char *name, const char *payload, const char *from, const char *rows,
    bool (*each)(void *user, arcp__asked *page, arcp_json_ref row), void *user, arcp_error *err);

/* Prints an object of a response as a line of JSON, or as an item in YAML; the payload itself
 * (ROOT) without the members that name the request. */
bool arcp__print_asked(arcp__program *program, arcp__format format, const arcp__asked *asked,
                       arcp_json_ref object);
/* The same of a row of a listing, which has the member `name` in the format of names. */
bool arcp__print_asked_row(arcp__program *program, arcp__format format, const arcp__asked *asked,
                           arcp_json_ref row, const char *name);

/* A listing of what arcpd answers, and how it is printed. */
typedef struct arcp__listing {
    arcp__program *program;
    arcp__format format;
    int64_t now_wall_ns;
    size_t columns;    /* of the terminal; 0: standard output is none */
    uint64_t count;    /* rows so far */
    uint64_t left_out; /* rows that the table does not show */
    bool has_failed;
} arcp__listing;

/* The command of a listing: checks the words (NULL: it has none), reads the format, and calls
 * `request` with the listing. Returns the exit status. */
int arcp__command_listing(arcp__program *program, enum arcp__option output,
                          arcp_status (*check_words)(const arcp__arguments *arguments,
                                                     arcp_error *err),
                          arcp__program_request_fn request);

/* ---- live.c ---- */

/* Jobs that are watched. */
typedef struct arcp__live {
    arcp__program *program;
    arcp_client *client;
    const char *principals; /* whose; "": the own ones */
    /* Takes a job that has begun or changed. False ends the report. */
    bool (*row)(void *user, arcp__asked *report, arcp_json_ref row);
    void *user;
    bool is_waiting; /* for the connection */
} arcp__live;

/* Has the runtime report the jobs that change. Of a runtime that cannot:
 * ARCP_E_INVALID_REQUEST. */
ARCP_MUST_CHECK arcp_status arcp__live_begin(arcp__live *live, arcp_error *err);
/* Waits for the next event; gives the rows of a report to `row`, and says what becomes of the
 * connection. *loads is set when changes may be missing: the jobs are to be read again. */
ARCP_MUST_CHECK arcp_status arcp__live_next(arcp__live *live, int64_t timeout_ms,
                                            const arcp_client_event **out, bool *loads,
                                            arcp_error *err);
/* Whether the principal has a role, and so sees the jobs of all. */
bool arcp__sees_all(arcp_client *client);
/* Whether the runtime answers requests x-vendor.arcpd.*. */
bool arcp__has_view(arcp_client *client);

/* ---- command_logs_stderr.c ---- */

/* Prints the lines of standard error that are kept (`tail`: the last ones; NULL: all), and with
 * `follows` those that come. Returns the exit status. */
int arcp__logs_stderr(arcp__program *program, arcp_client *client, arcp_span id, bool follows,
                      const uint64_t *tail);

#endif
