/* What the files of `arcp models` share. */
#ifndef ARCP_ARCP_MODELS_H
#define ARCP_ARCP_MODELS_H

#include <arcp/gate.h>

#include "cli/cli.h"
#include "gateway/model_config.h"
#include "llm/llm_answer.h"
#include "llm/llm_call.h"

typedef struct arcp__models {
    arcp__program *program;
    arcp__llm_prices *prices;
    arcp_lease *lease;
    arcp_authority *authority; /* NULL: no lease was given */
    arcp_time now;
    arcp_target_scratch *scratch;
    bool has_size; /* --bytes */
    bool has_max;  /* --max-output */
    arcp__llm_size size;
    arcp__llm_terms terms;
    const arcp__model_config *config; /* that is listed; NULL: a price file is */
} arcp__models;

/* A line of the listing. */
typedef struct arcp__models_row {
    arcp_span name;
    arcp_span stands_for; /* of an alias */
    arcp_span provider;
    const arcp__llm_row *row; /* NULL: the price file has none, and `note` is set */
    arcp__llm_terms terms;
    const char *note; /* in place of prices: why nothing is charged, or calls are refused */
    bool is_allowed;  /* by the lease, if there is one */
} arcp__models_row;

/* Whether the command line names the model, or names none. */
bool arcp__models_is_wanted(const arcp__models *models, arcp_span name);
/* Whether there is a lease that allows the name. */
bool arcp__models_allows(const arcp__models *models, arcp_span name);
void arcp__models_append_header(const arcp__models *models, arcp_buf *out);
void arcp__models_append(const arcp__models *models, const arcp__models_row *shown, arcp_buf *out);

/* models_setup.c: lists the models of the configuration file, or with --request prints what a call
 * to one of them can cost; returns the exit status. */
int arcp__models_of_setup(arcp__models *models);

/* The row of a model: by its name, or by that of the dialect, a slash and its name. NULL: none. */
const arcp__llm_row *arcp__models_find(const arcp__models *models, arcp__llm_dialect dialect,
                                       arcp_span model);

/* Appends a file, or standard input (-). ARCP_E_USAGE names the file. */
ARCP_MUST_CHECK arcp_status arcp__models_file(const char *name, arcp_buf *out, arcp_error *err);

/* A member with a decimal amount as a string. */
void arcp__models_put_amount(arcp_json_writer *writer, const char *name, arcp_decimal amount);

/* models_request.c: --request FILE --route ROUTE. Prints what the call asks for and what it can
 * cost at most; returns the exit status. */
int arcp__models_request(arcp__models *models);

/* models_answer.c: --answer FILE. What the answer to a call cost, of which `held` was held. */
typedef struct arcp__models_answer {
    arcp__llm_cost cost;
    bool is_stream;
    bool has_unread;
} arcp__models_answer;

/* Reads the answer: one JSON object, or a stream of events. ARCP_E_USAGE when the file cannot be
 * read. */
ARCP_MUST_CHECK arcp_status arcp__models_answer_read(const arcp__models *models,
                                                     const arcp__llm_call *call,
                                                     const arcp__llm_row *row,
                                                     const arcp__llm_terms *terms,
                                                     const arcp__llm_bound *held,
                                                     arcp__models_answer *out, arcp_error *err);
void arcp__models_answer_put(const arcp__models_answer *answer, arcp_json_writer *writer);
void arcp__models_answer_append(const arcp__models_answer *answer, arcp_buf *out);

#endif
