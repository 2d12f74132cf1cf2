/* Shared by the files model_*.c: the service for models, and the calls that it answers.
 *
 *   ADMIT ──> LINE ──> STORE ──> TURN ──> UPSTREAM ──> done
 *     │         │ ^      │         │          │ an alias with a list: the next model
 *     │         │ └──────┼─────────┼──────────┘
 *     └─────────┴────────┴─────────┴── refused ──────> done */
#ifndef ARCP_GATEWAY_MODEL_PARTS_H
#define ARCP_GATEWAY_MODEL_PARTS_H

#include "base/hash.h"
#include "core/trace.h"
#include "gateway/gateway_job.h"
#include "gateway/model_config.h"
#include "gateway/model_service.h"
#include "llm/llm_answer.h"
#include "llm/llm_line.h"

typedef struct model_service model_service;
typedef struct model_call model_call;

#define PREVIOUS_MAX 4096

/* What is kept of the jobs of a tree: answers that may be continued. */
typedef struct model_tree {
    size_t job_count;
    uint64_t *previous; /* hashes of their ids; owned */
    size_t previous_count, previous_next;
    UT_hash_handle hh;
    char id[]; /* of the topmost job */
} model_tree;

/* What is kept of a job. */
typedef struct model_job {
    arcp__llm_caller caller;
    /* The job's authority without its budget: whether amounts suffice is the line's to say, and the
     * gate would deny while other calls hold everything. */
    arcp_authority *asking;
    model_tree *tree;
    bool has_said_removed; /* that tools were removed from a call */
} model_job;

/* Models whose answer cost more than was held: their bound is doubled. */
#define DISTRUSTED_MAX 64

struct model_service {
    arcp__gateway *gateway;
    arcp__model_config *config; /* a reference */
    arcp__llm_lines *lines;
    model_tree *trees;
    model_call *calls;
    uv_timer_t timer;
    bool is_serving;                     /* decisions are being taken from the lines */
    uint64_t distrusted[DISTRUSTED_MAX]; /* hashes of provider and model */
    size_t distrusted_count;
    struct model_counts *counts;
};

typedef enum model_stage {
    MODEL_ADMIT,
    MODEL_LINE,     /* it waits for its hold */
    MODEL_STORE,    /* it waits until the store has its hold */
    MODEL_TURN,     /* it waits until its provider has fewer calls */
    MODEL_UPSTREAM, /* the request may have reached the provider */
    MODEL_OVER      /* its job ends */
} model_stage;

struct model_call {
    model_service *service;
    arcp__gateway_call *call;
    model_job *job;
    arcp__model_config *config; /* a reference */
    model_call *prev, *next;
    model_stage stage;
    arcp__llm_route route;
    bool counts_only; /* count_tokens: nothing is held */
    arcp_time began_at;
    bool is_alias;
    arcp__llm_call asked;
    arcp__model_found found[ARCP__MODEL_LIST_MAX];
    size_t found_count, at; /* the model that is asked now */

    /* Of the model that is asked now. */
    const arcp__llm_row *row; /* with or without prices; NULL: count_tokens */
    bool has_bound;
    arcp__llm_bound bound;
    arcp__llm_bound sent; /* with the limit that was sent */
    arcp__llm_demand demands[ARCP__LLM_CURRENCIES_MAX];
    size_t demand_count;
    arcp__llm_hold hold;
    bool is_held_counted;
    bool has_hold_row;        /* the store has its hold, or will have it */
    uint64_t turn_ms;         /* when waiting in TURN ends */
    arcp_buf body;            /* that is sent */
    uint64_t buffered;        /* bytes that count against buffer_bytes */
    arcp__web_call *upstream; /* NULL: none under way */
    arcp_time sent_at;
    char span_id[ARCP__SPAN_ID_SIZE + 1]; /* of the request; empty: no span is made */

    /* Of its answer. */
    unsigned status; /* 0: no head yet */
    bool is_error;   /* nothing is charged */
    bool has_tap;
    arcp__llm_tap tap;
    bool filters; /* the chunk with the usage, which the agent did not ask for, is taken out */
    arcp_buf held_back; /* of the current event */
    bool is_raw;        /* an event is too long to be held back */
    uint64_t answer_bytes;
    bool is_paused;
    uint64_t close_ms; /* when reading on ends after the client went away; 0: it is there */
};

/* ---- model_admit.c ---- */

/* Reads the body, asks the lease, and finds the models. False: the call was refused. */
bool arcp__model_admit(model_call *m);
/* Reads the body as the provider of m->found[m->at] takes it. False: `err` says what is refused. */
bool arcp__model_read(model_call *m, arcp_error *err);
void arcp__model_refuse_body(model_call *m, const arcp_error *err);
/* Bounds a call to m->found[m->at], and sets the demands. False: `status` and `err` say why not. */
bool arcp__model_bound(model_call *m, int *http_status, arcp_error *err);
/* Puts the call into its line. */
void arcp__model_ask(model_call *m);
/* Asks the runtime to store what the call holds. False: out of memory. */
bool arcp__model_store_hold(model_call *m);
/* Makes m->body for the limit that is held. False: out of memory. */
bool arcp__model_write_body(model_call *m);
/* Which of the models' answers may be continued by the jobs of a tree. */
void arcp__model_remember(model_tree *tree, arcp_span answer_id);
bool arcp__model_knows(const model_tree *tree, arcp_span answer_id);

/* ---- model_forward.c ---- */

/* Bounds the call and puts it into its line; the call was admitted. */
void arcp__model_start(model_call *m);
/* The hold was given or refused. */
void arcp__model_decided(model_call *m);
/* The store has the hold. */
void arcp__model_stored(model_call *m);
/* Sends calls whose provider has fewer calls now; refuses one that has waited for too long. */
void arcp__model_turns(model_service *service);
/* All that was written has been sent. */
void arcp__model_drained(model_call *m);
void arcp__model_dropped(model_call *m, uint64_t now_ms);
/* Ends the call now. */
void arcp__model_end(model_call *m, arcp_status why);
/* Reading on after the client went away has taken too long. */
void arcp__model_close(model_call *m);

/* ---- model_answer.c ---- */

/* Request headers for the provider, each followed by a NUL; a secret. */
void arcp__model_request_headers(const model_call *m, arcp_buf *out);
/* Begins the response with the provider's status and the headers that are passed on. */
void arcp__model_begin_response(model_call *m, const arcp__web_client_head *head);
/* Passes a piece of the answer on. */
void arcp__model_pass(model_call *m, arcp_span piece);
/* Passes on what was held back. */
void arcp__model_pass_rest(model_call *m);

/* ---- model_settle.c ---- */

/* Charges what the answer cost, and says the metric; or gives the hold back. */
void arcp__model_settle(model_call *m);
void arcp__model_release(model_call *m);
/* The request to the provider failed: gives the hold back, and makes its span. `why` is a word, or
 * NULL for the status of the answer. */
void arcp__model_fail(model_call *m, const char *why);
/* Says a line in the job's log. */
void arcp__model_log(const model_call *m, const char *level, const char *format, ...)
    ARCP_PRINTF(3, 4);
/* Whether an answer of this model cost more than was held. */
bool arcp__model_is_distrusted(const model_service *service, const arcp__model_found *found);

/* ---- model_list.c ---- */

void arcp__model_list(model_service *service, arcp__gateway_call *call);

/* ---- model_service.c ---- */

uint64_t arcp__model_now_ms(const model_service *service);
/* What is kept of a job; NULL: out of memory. */
model_job *arcp__model_job(model_service *service, arcp__gateway_job *job);
/* Takes the decisions of the lines, and sets the timer. */
void arcp__model_serve(model_service *service);
/* The call is over: frees it. */
void arcp__model_done(model_call *m);
void arcp__model_refuse(model_call *m, int status, const char *code, const char *format, ...)
    ARCP_PRINTF(4, 5);

#endif
