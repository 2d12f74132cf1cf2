#include "gateway/model_service.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/hash.h"
#include "gateway/model_counts.h"
#include "gateway/model_parts.h"

uint64_t arcp__model_now_ms(const model_service *service)
{
    return (uint64_t)arcp__gateway_now(service->gateway).mono_ns / 1000000;
}

/* ---- the lines ---- */

static void on_timer(uv_timer_t *timer)
{
    model_service *service = timer->data;
    const uint64_t now_ms = arcp__model_now_ms(service);
    model_call *m = NULL;
    model_call *next = NULL;
    arcp__llm_lines_tick(service->lines, now_ms);
    /* Closing one call frees no other: their decisions are taken below. */
    service->is_serving = true;
    for (m = service->calls; m != NULL; m = next) {
        next = m->next;
        if (m->close_ms != 0 && now_ms >= m->close_ms) {
            arcp__model_close(m);
        }
    }
    service->is_serving = false;
    arcp__model_serve(service);
}

static void set_timer(model_service *service)
{
    const uint64_t now_ms = arcp__model_now_ms(service);
    uint64_t due_ms = arcp__llm_lines_due_ms(service->lines);
    for (const model_call *m = service->calls; m != NULL; m = m->next) {
        if (m->close_ms != 0 && m->close_ms < due_ms) {
            due_ms = m->close_ms;
        }
        if (m->stage == MODEL_TURN && m->turn_ms < due_ms) {
            due_ms = m->turn_ms;
        }
    }
    if (due_ms == UINT64_MAX) {
        (void)uv_timer_stop(&service->timer);
    } else {
        (void)uv_timer_start(&service->timer, on_timer, due_ms > now_ms ? due_ms - now_ms : 1, 0);
    }
}

void arcp__model_serve(model_service *service)
{
    if (service->is_serving) {
        return; /* the loop below takes them */
    }
    service->is_serving = true;
    arcp__model_turns(service);
    for (arcp__llm_hold *hold; (hold = arcp__llm_lines_take(service->lines)) != NULL;) {
        arcp__model_decided(hold->user);
    }
    service->is_serving = false;
    arcp__model_count_waiting(service->counts, arcp__llm_lines_waiting(service->lines));
    set_timer(service);
}

/* ---- jobs ---- */

/* The tree of a job, with the job counted; NULL: out of memory. */
static model_tree *enter_tree(model_service *service, const arcp__gateway_job *job)
{
    const size_t size = strlen(job->tree_id);
    model_tree *tree = NULL;
    HASH_FIND(hh, service->trees, job->tree_id, size, tree);
    if (tree == NULL) {
        tree = arcp__alloc(sizeof *tree + size + 1);
        if (tree == NULL) {
            return NULL;
        }
        memcpy(tree->id, job->tree_id, size + 1);
        HASH_ADD_KEYPTR(hh, service->trees, tree->id, size, tree);
        if (!ARCP__HASH_ADDED(tree)) {
            arcp__free(tree);
            return NULL;
        }
    }
    tree->job_count++;
    return tree;
}

static void leave_tree(model_service *service, model_tree *tree)
{
    if (--tree->job_count == 0) {
        HASH_DEL(service->trees, tree);
        arcp__free(tree->previous);
        arcp__free(tree);
    }
}

/* An authority like the job's, without its budget. */
static arcp_status make_asking(const arcp__gateway_job *job, arcp_authority **out)
{
    arcp_authority_options options = arcp_authority_options_init();
    arcp_lease *none = NULL;
    arcp_status status =
        arcp_lease_parse(ARCP_SPAN_LITERAL("{}"), ARCP_SPAN_LITERAL(""), NULL, &none, NULL);
    if (status == ARCP_OK) {
        status = arcp_budget_new(none, NULL, &options.budget, NULL);
        arcp_lease_unref(none);
    }
    if (status != ARCP_OK) {
        return status;
    }
    options.now = arcp__gateway_now(job->gateway);
    options.parent = job->authority;
    options.model_use_required = false; /* unless the job's authority requires it */
    status = arcp_authority_new(arcp_authority_lease(job->authority), &options, out, NULL);
    arcp_budget_unref(options.budget);
    return status;
}

model_job *arcp__model_job(model_service *service, arcp__gateway_job *job)
{
    model_job *state = job->states[ARCP__GATEWAY_LLM];
    if (state == NULL) {
        state = arcp__alloc(sizeof *state);
        if (state != NULL && make_asking(job, &state->asking) != ARCP_OK) {
            arcp__free(state);
            state = NULL;
        }
        if (state != NULL && (state->tree = enter_tree(service, job)) == NULL) {
            arcp_authority_unref(state->asking);
            arcp__free(state);
            state = NULL;
        }
        job->states[ARCP__GATEWAY_LLM] = state;
    }
    return state;
}

static void job_over(void *user, arcp__gateway_job *job)
{
    model_job *state = job->states[ARCP__GATEWAY_LLM];
    if (state != NULL) {
        arcp_authority_unref(state->asking);
        leave_tree(user, state->tree);
        arcp__free(state);
        job->states[ARCP__GATEWAY_LLM] = NULL;
    }
}

/* ---- calls ---- */

void arcp__model_refuse(model_call *m, int status, const char *code, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp__model_count_outcome(m->service->counts,
                              m->found_count == 0 ? arcp_span_make(NULL, 0)
                                                  : m->found[m->at].provider->name,
                              MODEL_REFUSED);
    arcp__gateway_call_refuse(m->call, status, code, arcp_span_cstr(text));
}

void arcp__model_done(model_call *m)
{
    model_service *service = m->service;
    DL_DELETE(service->calls, m);
    if (m->has_tap) {
        arcp__model_remember(m->job->tree, arcp_span_cstr(m->tap.answer_id));
        arcp__llm_tap_fini(&m->tap);
    }
    arcp__gateway_buffer_give(service->gateway, m->buffered);
    arcp__llm_call_fini(&m->asked);
    arcp_buf_fini(&m->body);
    arcp_buf_fini(&m->held_back);
    arcp__model_config_unref(m->config);
    m->call->state = NULL;
    arcp__gateway_call_done(m->call);
    arcp__free(m);
    arcp__model_serve(service);
}

static bool is_list(arcp_span path)
{
    const arcp_span list = ARCP_SPAN_LITERAL("/v1/models");
    return arcp_span_starts_with(path, list) &&
           (path.size == list.size || path.data[list.size] == '/');
}

static void request(void *user, arcp__gateway_call *call)
{
    model_service *service = user;
    const arcp__web_head *head = arcp__web_exchange_head(call->exchange);
    const bool is_get = is_list(call->path);
    if (is_get ? head->method == ARCP__WEB_OTHER_METHOD : strcmp(head->method_name, "POST") != 0) {
        arcp__gateway_call_refuse(call, 405, "method_not_allowed",
                                  ARCP_SPAN_LITERAL("the route has another method"));
        arcp__gateway_call_done(call);
        return;
    }
    if (is_get) {
        arcp__model_list(service, call);
        return;
    }
    model_call *m = arcp__alloc(sizeof *m);
    model_job *job = arcp__model_job(service, call->job);
    if (m == NULL || job == NULL) {
        arcp__free(m);
        arcp__gateway_call_refuse(call, 503, "buffers", ARCP_SPAN_LITERAL("out of memory"));
        arcp__gateway_call_done(call);
        return;
    }
    m->service = service;
    m->call = call;
    m->job = job;
    m->config = arcp__model_config_ref(service->config);
    m->began_at = arcp__gateway_now(service->gateway);
    call->state = m;
    DL_APPEND(service->calls, m);
    if (arcp__model_admit(m)) {
        arcp__model_start(m);
    } else {
        arcp__model_done(m);
    }
}

static void drained(void *user, arcp__gateway_call *call)
{
    if (call->state != NULL) {
        arcp__model_drained(call->state);
    }
}

static void dropped(void *user, arcp__gateway_call *call)
{
    if (call->state != NULL) {
        arcp__model_dropped(call->state, arcp__model_now_ms(user));
    }
}

static void hold_stored(void *user, arcp__gateway_call *call)
{
    if (call->state != NULL) {
        arcp__model_stored(call->state);
    }
}

static void end(void *user, arcp__gateway_call *call, arcp_status why)
{
    if (call->state != NULL) {
        arcp__model_end(call->state, why);
    }
}

/* ---- the service ---- */

static void ref(void *configuration)
{
    (void)arcp__model_config_ref(configuration);
}

static void unref(void *configuration)
{
    arcp__model_config_unref(configuration);
}

static arcp_status open_service(arcp__gateway *gateway, void *configuration, void **out,
                                arcp_error *err)
{
    model_service *service = arcp__alloc(sizeof *service);
    if (service == NULL) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    service->counts = arcp__model_counts_new();
    if (service->counts == NULL || arcp__llm_lines_new(&service->lines, err) != ARCP_OK) {
        arcp__model_counts_free(service->counts);
        arcp__free(service);
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    service->gateway = gateway;
    service->config = arcp__model_config_ref(configuration);
    (void)uv_timer_init(arcp__gateway_loop(gateway), &service->timer);
    service->timer.data = service;
    *out = service;
    return ARCP_OK;
}

static void configure(void *user, void *configuration)
{
    model_service *service = user;
    arcp__model_config_unref(service->config);
    service->config = arcp__model_config_ref(configuration);
    service->distrusted_count = 0;
}

static void on_closed(uv_handle_t *handle)
{
    model_service *service = handle->data;
    arcp__llm_lines_free(service->lines);
    arcp__model_counts_free(service->counts);
    arcp__model_config_unref(service->config);
    arcp__free(service);
}

static void close_service(void *user)
{
    model_service *service = user;
    uv_close((uv_handle_t *)&service->timer, on_closed);
}

static void write_metrics(void *user, arcp_buf *out)
{
    const model_service *service = user;
    arcp__model_counts_write(service->counts, out);
}

const arcp__gateway_service arcp__model_service = {.ref = ref,
                                                   .unref = unref,
                                                   .open = open_service,
                                                   .configure = configure,
                                                   .close = close_service,
                                                   .request = request,
                                                   .drained = drained,
                                                   .dropped = dropped,
                                                   .hold_stored = hold_stored,
                                                   .end = end,
                                                   .job_over = job_over,
                                                   .write_metrics = write_metrics};
