/* GET /v1/models and /v1/models/NAME: the models that the job's lease allows. */
#include "gateway/model_parts.h"

#include "core/id_set.h"
#include "json/json_put.h"

#define PREFIX "/v1/models"

typedef struct lister {
    const arcp_authority *asking;
    arcp_time now;
    bool is_anthropic;
    arcp_span only; /* the name that is asked for; empty: all */
    arcp_json_writer writer;
    arcp__id_set names; /* that were written */
    arcp_span first, last;
    bool failed;
} lister;

static bool is_new(lister *l, arcp_span name)
{
    if (arcp__id_set_has(&l->names, name)) {
        return false;
    }
    const bool is_added = arcp__id_set_add(&l->names, name);
    l->failed = l->failed || !is_added;
    return is_added;
}

static void write_model(lister *l, arcp_span name, arcp_span provider)
{
    arcp_json_begin_object(&l->writer);
    arcp__put_string(&l->writer, "id", name);
    if (l->is_anthropic) {
        arcp__put_cstr(&l->writer, "type", "model");
        arcp__put_string(&l->writer, "display_name", name);
        arcp__put_cstr(&l->writer, "created_at", "1970-01-01T00:00:00Z");
    } else {
        arcp__put_cstr(&l->writer, "object", "model");
        arcp__put_u64(&l->writer, "created", 0);
        arcp__put_string(&l->writer, "owned_by", provider);
    }
    arcp_json_end_object(&l->writer);
}

static void add(void *user, arcp_span name, arcp_span provider)
{
    lister *l = user;
    arcp_target_scratch scratch;
    arcp_decision decision;
    if ((l->only.size != 0 && !arcp_span_equal(l->only, name)) ||
        !arcp_authorize_model(l->asking, l->now, name, &scratch, &decision) || !is_new(l, name)) {
        return;
    }
    l->first = l->first.size == 0 ? name : l->first;
    l->last = name;
    write_model(l, name, provider);
}

static void write_list(lister *l, const arcp__model_config *config)
{
    arcp_json_begin_object(&l->writer);
    if (!l->is_anthropic) {
        arcp__put_cstr(&l->writer, "object", "list");
    }
    arcp__put_array(&l->writer, "data");
    arcp__model_each(config, add, l);
    arcp_json_end_array(&l->writer);
    if (l->is_anthropic) {
        arcp__put_bool(&l->writer, "has_more", false);
        arcp__put_string(&l->writer, "first_id", l->first);
        arcp__put_string(&l->writer, "last_id", l->last);
    }
    arcp_json_end_object(&l->writer);
}

void arcp__model_list(model_service *service, arcp__gateway_call *call)
{
    const model_job *job = arcp__model_job(service, call->job);
    arcp_span version;
    arcp_buf out = arcp_buf_init();
    lister l = {.only = arcp_span_from(call->path, sizeof PREFIX), /* with the slash */
                .now = arcp__gateway_now(service->gateway),
                .is_anthropic = arcp__web_head_find(arcp__web_exchange_head(call->exchange),
                                                    "anthropic-version", &version) != 0};
    arcp_json_writer_init(&l.writer, &out);
    if (job == NULL) {
        l.failed = true;
    } else {
        l.asking = job->asking;
        if (l.only.size != 0) {
            arcp__model_each(service->config, add, &l);
        } else {
            write_list(&l, service->config);
        }
    }
    if (l.failed || out.failed) {
        arcp__gateway_call_refuse(call, 503, "buffers", ARCP_SPAN_LITERAL("out of memory"));
    } else if (out.size == 0) {
        arcp__gateway_call_refuse(call, 404, "model_not_found",
                                  ARCP_SPAN_LITERAL("the lease allows no such model"));
    } else {
        const arcp__web_response response = {
            .status = 200, .type = "application/json", .body = arcp_buf_span(&out)};
        arcp__gateway_call_respond(call, &response);
    }
    arcp__id_set_fini(&l.names);
    arcp_buf_fini(&out);
    arcp__gateway_call_done(call);
}
