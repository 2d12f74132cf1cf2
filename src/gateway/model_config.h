/* The configuration of the gateway for models: providers, aliases and prices, as arcpd's `models`
 * sets them. Immutable once made, with a reference count; any thread. docs/gateways.md. */
#ifndef ARCP_GATEWAY_MODEL_CONFIG_H
#define ARCP_GATEWAY_MODEL_CONFIG_H

#include "llm/llm_call.h"

/* One of `models.providers`. */
typedef struct arcp__model_provider_options {
    const char *name;
    int dialect;     /* arcp__llm_dialect */
    const char *url; /* http or https, without a slash at its end; OpenAI's ends with /v1 */
    const char *key; /* text with {file:PATH} and {env:NAME}; NULL: none */
    int key_header;
    const char *const *models; /* globs */
    size_t model_count;
    bool is_free;             /* nothing is charged, and any member is sent on */
    const char *limit_field;  /* of chats that name no limit; NULL: by the URL */
    const char *const *allow; /* further members that are sent on */
    size_t allow_count;
    const char *multiplier; /* of all prices; NULL: 1 */
    uint64_t image_tokens;  /* 0: by the dialect */
    uint64_t other_tokens_per_byte;
    bool removes_tools;
    bool forbids_store;
    uint64_t calls_at_once; /* of all jobs; 0: as many as there are */
} arcp__model_provider_options;

enum { ARCP__MODEL_KEY_BY_DIALECT, ARCP__MODEL_KEY_AUTHORIZATION, ARCP__MODEL_KEY_X_API_KEY };

/* The group `models`. */
typedef struct arcp__model_options {
    arcp__model_provider_options *providers;
    size_t provider_count;      /* 0: there is no gateway for models */
    const char *const *aliases; /* "NAME=MODEL,MODEL" */
    size_t alias_count;
    const char *prices; /* path; NULL: no model has a price */
    bool unknown_is_free;
    const char *currency;        /* NULL: USD */
    const char *const *exchange; /* "EUR=0.92" */
    size_t exchange_count;
    uint64_t max_output_tokens, min_output_tokens;
} arcp__model_options;

typedef struct arcp__model_provider {
    arcp_span name;
    arcp__llm_dialect dialect;
    arcp_span url;
    arcp_buf key_line; /* a secret: "Authorization: Bearer ..."; empty: none */
    const char *const *models;
    size_t model_count;
    bool is_free, removes_tools, forbids_store;
    bool is_openai; /* at api.openai.com */
    const char *limit_field;
    const char *const *allow;
    size_t allow_count;
    uint64_t other_tokens_per_byte; /* 0: by the dialect */
    uint64_t calls_at_once;         /* 0: no limit */
    arcp__llm_terms terms;
} arcp__model_provider;

typedef struct arcp__model_alias {
    arcp_span name;
    arcp_span *models; /* in the order in which they are asked */
    size_t model_count;
} arcp__model_alias;

typedef struct arcp__model_exchange {
    arcp_span currency;
    arcp_decimal rate; /* what one of the prices' currency is worth */
} arcp__model_exchange;

typedef struct arcp__model_config arcp__model_config;

/* What a call to a model needs. Borrowed from the configuration. */
typedef struct arcp__model_found {
    arcp_span model; /* as the provider knows it */
    const arcp__model_provider *provider;
    const arcp__llm_row *row; /* NULL: the price file has none */
} arcp__model_found;

#define ARCP__MODEL_LIST_MAX 16 /* models of an alias */

/* `prices` is the text of the price file (empty: none), `keys` has the key of each provider after
 * {file:} and {env:} were replaced, or NULL. Everything is copied. ARCP_E_USAGE names the key of
 * the configuration. */
ARCP_MUST_CHECK arcp_status arcp__model_config_new(const arcp__model_options *options,
                                                   arcp_span prices, const char *const *keys,
                                                   arcp__model_config **out, arcp_error *err);
arcp__model_config *arcp__model_config_ref(arcp__model_config *config);
void arcp__model_config_unref(arcp__model_config *config); /* NULL is accepted */

/* The models that a name stands for, in the order in which they are asked: those of an alias, else
 * the name itself. Writes at most ARCP__MODEL_LIST_MAX; those without a provider of the dialect are
 * left out. `name` is kept by a model that is no alias. */
size_t arcp__model_find(const arcp__model_config *config, arcp__llm_dialect dialect, arcp_span name,
                        arcp__model_found *out);

bool arcp__model_is_alias(const arcp__model_config *config, arcp_span name);

/* All names that can be listed: aliases, names without `*` in `models`, and rows of the price file
 * that a provider serves. `each` may be called twice for a name. */
void arcp__model_each(const arcp__model_config *config,
                      void (*each)(void *user, arcp_span name, arcp_span provider), void *user);

arcp_span arcp__model_currency(const arcp__model_config *config);
size_t arcp__model_exchanges(const arcp__model_config *config, const arcp__model_exchange **out);
uint64_t arcp__model_min_output(const arcp__model_config *config);
bool arcp__model_unknown_is_free(const arcp__model_config *config);

/* ---- model_rule.c: one call ---- */

/* How the body of a call to the provider is read. Borrows from the provider. */
arcp__llm_policy arcp__model_policy(const arcp__model_provider *provider, arcp__llm_route route);

/* The row that prices the call; a row without prices for what is free. NULL: it has no price. */
const arcp__llm_row *arcp__model_row(const arcp__model_config *config,
                                     const arcp__model_found *found, arcp__llm_route route);
bool arcp__model_row_is_free(const arcp__llm_row *row);

/* How the body that the provider gets differs from that of the agent, but for its limit. `row`: as
 * above. */
arcp__llm_change arcp__model_change(const arcp__model_found *found, const arcp__llm_row *row,
                                    const arcp__llm_call *call);

/* ---- model_config.c ---- */

/* Appends what `--check-config` says of it: which provider serves each alias, which models have no
 * price, and which cannot be bounded. */
void arcp__model_config_explain(const arcp__model_config *config, arcp_buf *out);

#endif
