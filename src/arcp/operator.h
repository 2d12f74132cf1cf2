/* What the commands of operators share. */
#ifndef ARCP_ARCP_OPERATOR_H
#define ARCP_ARCP_OPERATOR_H

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

/* Prints an object of a response as a line of JSON, or as an item in YAML; the payload itself
 * (ROOT) without the members that name the request. */
bool arcp__print_asked(arcp__program *program, arcp__format format, const arcp__asked *asked,
                       arcp_json_ref object);
/* The same of a row of a listing, which has the member `name` in the format of names. */
bool arcp__print_asked_row(arcp__program *program, arcp__format format, const arcp__asked *asked,
                           arcp_json_ref row, const char *name);

#endif
