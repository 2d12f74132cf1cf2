/* `arcp models --request FILE --route ROUTE`: what a call with this body asks for, what it can cost
 * at most, and what a lease says of it. With a configuration file the rules of the provider hold
 * that serves the model, as in the gateway. */
#include <inttypes.h>
#include <stdio.h>

#include "arcp/models.h"
#include "json/json_put.h"

/* What is found out about a call. */
typedef struct request {
    arcp__models *models;
    arcp__llm_call call;
    arcp__llm_terms terms;
    arcp__model_found found; /* provider NULL: the price file has no providers */
    bool is_alias;
    const arcp__llm_row *row; /* NULL: the model has no price */
    arcp__llm_bound bound;
    bool is_bounded;
    arcp_error why;  /* why it is not */
    bool is_allowed; /* everything that was asked of the lease */
    bool has_answer;
    arcp__models_answer answer;
} request;

/* True without a lease. */
static bool ask(const arcp__models *models, const char *capability, arcp_span target)
{
    arcp_decision decision = {0};
    return models->authority == NULL ||
           arcp_authorize(models->authority, models->now, arcp_span_cstr(capability), target,
                          models->scratch, &decision);
}

/* An alias is allowed when its name or the name that it stands for is. */
static bool ask_model(const request *r)
{
    return ask(r->models, "model.use", r->call.model) ||
           (r->is_alias && ask(r->models, "model.use", r->found.model));
}

/* Everything that the call needs of the lease. */
static void ask_all(request *r)
{
    r->is_allowed = ask_model(r);
    for (size_t i = 0; i < r->call.url_count; i++) {
        r->is_allowed = ask(r->models, "net.fetch", r->call.urls[i]) && r->is_allowed;
    }
}

static void find_bound(request *r)
{
    const arcp__llm_call *call = &r->call;
    r->row = r->found.provider == NULL
                 ? arcp__models_find(r->models, arcp__llm_route_dialect(call->route), call->model)
                 : arcp__model_row(r->models->config, &r->found, call->route);
    if (r->row == NULL) {
        (void)arcp_error_set(&r->why, ARCP_E_PERMISSION_DENIED,
                             "the price file has no row for the model");
        return;
    }
    r->is_bounded =
        arcp__llm_bound_find(r->row, &call->size, &r->terms, &r->bound, &r->why) == ARCP_OK;
}

/* A call that is not charged needs no bound. */
static bool is_free(const request *r)
{
    return r->row != NULL && arcp__model_row_is_free(r->row);
}

/* ---- as JSON ---- */

static void append_json(const request *r, arcp_buf *out)
{
    const arcp__llm_call *call = &r->call;
    const bool has_lease = r->models->authority != NULL;
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "model", call->model);
    arcp__put_cstr(&writer, "route", arcp__llm_route_name(call->route));
    if (r->found.provider != NULL) {
        arcp__put_string(&writer, "provider", r->found.provider->name);
    }
    if (r->is_alias) {
        arcp__put_string(&writer, "sent_as", r->found.model);
    }
    if (has_lease) {
        arcp__put_bool(&writer, "allowed", ask_model(r));
    }
    arcp__put_u64(&writer, "text_tokens", call->size.text);
    arcp__put_u64(&writer, "extra_tokens", call->size.extra);
    arcp__put_u64(&writer, "images", call->size.images);
    arcp__put_bool(&writer, "open", call->size.is_open);
    arcp__put_u64(&writer, "answers", call->size.answers);
    arcp__put_bool(&writer, "stream", call->streams);
    arcp__put_u64(&writer, "tools_removed", call->removed_count);
    arcp__put_array(&writer, "fetches");
    for (size_t i = 0; i < call->url_count; i++) {
        arcp_json_begin_object(&writer);
        arcp__put_string(&writer, "url", call->urls[i]);
        if (has_lease) {
            arcp__put_bool(&writer, "allowed", ask(r->models, "net.fetch", call->urls[i]));
        }
        arcp_json_end_object(&writer);
    }
    arcp_json_end_array(&writer);
    arcp__put_bool(&writer, "bounded", r->is_bounded);
    if (r->is_bounded) {
        arcp__put_text(&writer, "priced_as", r->row->name);
        arcp__put_u64(&writer, "input_tokens", r->bound.input_tokens);
        arcp__put_u64(&writer, "limit", r->bound.limit);
        arcp__put_u64(&writer, "output_tokens", r->bound.output_tokens);
        arcp__models_put_amount(&writer, "input", r->bound.input);
        arcp__models_put_amount(&writer, "output", r->bound.output);
        arcp__models_put_amount(&writer, "total", r->bound.total);
        if (r->has_answer) {
            arcp__models_answer_put(&r->answer, &writer);
        }
    } else if (is_free(r)) {
        arcp__put_bool(&writer, "free", true);
    } else {
        arcp__put_cstr(&writer, "refused", "no_price");
        arcp__put_cstr(&writer, "reason", r->why.message);
    }
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

/* ---- as text ---- */

/* "allowed" or "denied", where a lease was given. */
static void append_verdict(const request *r, bool is_allowed, arcp_buf *out)
{
    if (r->models->authority != NULL) {
        arcp_buf_append_cstr(out, is_allowed ? ", allowed" : ", denied");
    }
    arcp_buf_append_byte(out, '\n');
}

static void append_provider(const request *r, arcp_buf *out)
{
    if (r->found.provider != NULL) {
        arcp_buf_append_cstr(out, "provider ");
        arcp_buf_append(out, r->found.provider->name);
        if (r->is_alias) {
            arcp_buf_append_cstr(out, ", as ");
            arcp_buf_append(out, r->found.model);
        }
        arcp_buf_append_byte(out, '\n');
    }
}

static void append_text(const request *r, arcp_buf *out)
{
    const arcp__llm_call *call = &r->call;
    char total[ARCP_DECIMAL_TEXT_MAX];
    arcp_buf_append_cstr(out, "model    ");
    arcp__append_safe(out, call->model, 256);
    append_verdict(r, ask_model(r), out);
    append_provider(r, out);
    for (size_t i = 0; i < call->url_count; i++) {
        arcp_buf_append_cstr(out, "fetches  ");
        arcp__append_safe(out, call->urls[i], 256);
        append_verdict(r, ask(r->models, "net.fetch", call->urls[i]), out);
    }
    if (call->removed_count != 0) {
        arcp_buf_append_format(out, "removed  %zu tool%s that run%s at the provider\n",
                               call->removed_count, call->removed_count == 1 ? "" : "s",
                               call->removed_count == 1 ? "s" : "");
    }
    if (!r->is_bounded) {
        arcp_buf_append_format(out,
                               is_free(r) ? "cost     none: calls of this model are free\n"
                                          : "refused  no_price: %s\n",
                               r->why.message);
        return;
    }
    arcp_buf_append_format(out, "input    %" PRIu64 " tokens at most", r->bound.input_tokens);
    if (call->size.is_open) {
        arcp_buf_append_cstr(out, ": the context, because a part is not in the call\n");
    } else {
        arcp_buf_append_format(
            out, " (text %" PRIu64 ", pictures %" PRIu64 ", added by the provider %" PRIu64 ")\n",
            call->size.text, call->size.images, call->size.extra);
    }
    arcp_buf_append_format(out, "output   %" PRIu64 " tokens at most\n", r->bound.output_tokens);
    (void)arcp_decimal_format(r->bound.total, total);
    arcp_buf_append_format(out, "cost     %s at most\n", total);
    if (r->has_answer) {
        arcp__models_answer_append(&r->answer, out);
    }
}

/* ---- the body ---- */

/* The body that can cost no more than the bound. */
static void append_body(const request *r, arcp_buf *out)
{
    const arcp__llm_size *size = &r->call.size;
    arcp__llm_change change = {.asks_usage = true};
    if (r->found.provider != NULL) {
        change = arcp__model_change(&r->found, r->row, &r->call);
    }
    change.sets_limit = r->is_bounded && r->call.route != ARCP__LLM_ROUTE_EMBEDDINGS &&
                        (!size->has_limit || size->limit > r->bound.limit);
    change.limit = r->bound.limit;
    arcp__llm_call_write(&r->call, &change, out);
}

/* ---- the option ---- */

static arcp__llm_route route_of(const request *r)
{
    const char *name = arcp__value(&r->models->program->arguments, ARCP__OPTION_MODELS_ROUTE);
    return arcp__llm_route_of(arcp_span_cstr(name));
}

static arcp_status read_with(request *r, arcp_span body, const arcp__llm_policy *policy,
                             arcp_error *err)
{
    arcp__llm_call_fini(&r->call);
    return arcp__llm_call_read(body, policy, &r->call, err);
}

/* Finds the provider that the gateway would call: the first one that serves the model. An alias may
 * stand for several models: then it is the provider of the first one that the lease allows. */
static arcp_status find_provider(request *r, arcp_error *err)
{
    const arcp__model_config *config = r->models->config;
    const arcp_span model = r->call.model;
    arcp__model_found found[ARCP__MODEL_LIST_MAX];
    const size_t count =
        arcp__model_find(config, arcp__llm_route_dialect(route_of(r)), model, found);
    size_t at = 0;
    if (count == 0) {
        return arcp_error_set(err, ARCP_E_NOT_FOUND, "no provider serves the model \"%.*s\"",
                              (int)(model.size < 80 ? model.size : 80), model.data);
    }
    r->is_alias = arcp__model_is_alias(config, model);
    while (r->is_alias && at + 1 < count && !ask(r->models, "model.use", model) &&
           !ask(r->models, "model.use", found[at].model)) {
        at++;
    }
    r->found = found[at];
    r->terms = r->found.provider->terms;
    if (r->models->has_max) {
        r->terms.max_output_tokens = r->models->terms.max_output_tokens;
    }
    return ARCP_OK;
}

/* The name of the model says whose rules hold for the members. */
static arcp_status read_for_provider(request *r, arcp_span body, arcp_error *err)
{
    arcp__llm_policy policy = arcp__llm_policy_init(route_of(r));
    policy.allows_any = true;
    policy.removes_tools = true;
    arcp_status status = read_with(r, body, &policy, err);
    if (status == ARCP_OK) {
        status = find_provider(r, err);
    }
    if (status == ARCP_OK) {
        policy = arcp__model_policy(r->found.provider, route_of(r));
        status = read_with(r, body, &policy, err);
    }
    if (status == ARCP_OK && !r->is_alias) {
        r->found.model = r->call.model; /* it was borrowed from the first reading */
    }
    return status;
}

static arcp_status read_call(request *r, arcp_span body, arcp_error *err)
{
    const arcp__arguments *arguments = &r->models->program->arguments;
    arcp__llm_policy policy = arcp__llm_policy_init(route_of(r));
    if (r->models->config != NULL) {
        return read_for_provider(r, body, err);
    }
    policy.removes_tools = arcp__has(arguments, ARCP__OPTION_MODELS_REMOVE_TOOLS);
    policy.allowed = arguments->values[ARCP__OPTION_MODELS_ALLOW];
    policy.allowed_count = arguments->counts[ARCP__OPTION_MODELS_ALLOW];
    return read_with(r, body, &policy, err);
}

/* A call that is refused. */
static void append_refusal(const arcp__models *models, const arcp_error *err, arcp_buf *out)
{
    if (models->program->is_json) {
        arcp_json_writer writer = arcp__put_begin(out);
        arcp__put_cstr(&writer, "refused", err->code);
        arcp__put_cstr(&writer, "reason", err->message);
        arcp_json_end_object(&writer);
    } else {
        arcp_buf_append_format(out, "refused  %s: ", err->code);
        arcp__append_safe(out, arcp_span_cstr(err->message), sizeof err->message);
    }
    arcp_buf_append_byte(out, '\n');
}

/* Reads the body, asks the lease, bounds the call, and reads the answer if there is one. */
static arcp_status examine(request *r, arcp_buf *body, arcp_error *err)
{
    const arcp__models *models = r->models;
    const arcp__arguments *arguments = &models->program->arguments;
    arcp_status status =
        arcp__models_file(arcp__value(arguments, ARCP__OPTION_MODELS_REQUEST), body, err);
    if (status == ARCP_OK) {
        status = read_call(r, arcp_buf_span(body), err);
    }
    if (status == ARCP_OK) {
        ask_all(r);
        find_bound(r);
    }
    if (status == ARCP_OK && r->is_bounded && arcp__has(arguments, ARCP__OPTION_MODELS_ANSWER)) {
        r->has_answer = true;
        status = arcp__models_answer_read(models, &r->call, r->row, &r->terms, &r->bound,
                                          &r->answer, err);
    }
    return status;
}

int arcp__models_request(arcp__models *models)
{
    request r = {.models = models, .terms = models->terms};
    arcp_buf body = arcp_buf_init();
    arcp_buf out = arcp_buf_init();
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    const arcp_status status = examine(&r, &body, &err);
    if (status == ARCP_E_INVALID_REQUEST) {
        append_refusal(models, &err, &out);
    } else if (status == ARCP_OK && (r.is_bounded || is_free(&r)) &&
               arcp__has(&models->program->arguments, ARCP__OPTION_MODELS_BODY)) {
        append_body(&r, &out);
    } else if (status == ARCP_OK) {
        (models->program->is_json ? append_json : append_text)(&r, &out);
    }
    if (status != ARCP_OK && status != ARCP_E_INVALID_REQUEST) {
        exit_status = arcp__program_fail_file(models->program, &err);
    } else if (arcp__program_print_buf(models->program, &out)) {
        exit_status = (r.is_bounded || is_free(&r)) && r.is_allowed
                          ? ARCP__EXIT_SUCCESS
                          : arcp__exit_of_status(ARCP_E_PERMISSION_DENIED);
    }
    arcp__llm_call_fini(&r.call);
    arcp_buf_fini(&body);
    arcp_buf_fini(&out);
    return exit_status;
}
