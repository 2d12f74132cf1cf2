#include "provisioner/provision_rig.h"

#include "support/check.h"

static void copy(char *to, size_t size, arcp_span text)
{
    assert_true(text.size < size);
    memcpy(to, text.data == NULL ? "" : text.data, text.size);
    to[text.size] = '\0';
}

static void on_done(void *user, const arcp_provision_result *result)
{
    provision_rig *rig = user;
    assert_false(rig->is_inside);
    assert_true(result->call_id < PROVISION_ANSWERS_MAX);
    provision_answer *answer = &rig->answers[result->call_id];
    answer->count++;
    answer->outcome = result->outcome;
    answer->status = result->status;
    answer->lifetime_sec = result->lifetime_sec;
    copy(answer->value, sizeof answer->value, result->value);
    copy(answer->upstream_id, sizeof answer->upstream_id, result->upstream_id);
    copy(answer->endpoint, sizeof answer->endpoint, result->endpoint);
    copy(answer->scheme, sizeof answer->scheme, result->scheme);
    copy(answer->profile, sizeof answer->profile, result->profile);
    copy(answer->spent, sizeof answer->spent, result->spent);
    if (result->outcome != ARCP_PROVISION_DONE) {
        assert_non_null(result->message);
        copy(answer->message, sizeof answer->message, arcp_span_cstr(result->message));
    }
}

void provision_rig_begin(provision_rig *rig)
{
    *rig = (provision_rig){.next_call = 1};
    assert_int_equal(uv_loop_init(&rig->loop), 0);
}

void provision_rig_take(provision_rig *rig, arcp_provisioner *provisioner)
{
    arcp_provisioner_callbacks callbacks = {.done = on_done, .user = rig};
    rig->provisioner = provisioner;
    provisioner->ops->set_callbacks(provisioner, &callbacks);
}

void provision_rig_end(provision_rig *rig)
{
    if (rig->provisioner != NULL) {
        rig->provisioner->ops->free(rig->provisioner);
    }
    (void)uv_run(&rig->loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&rig->loop), 0);
    for (uint64_t i = 1; i < rig->next_call; i++) {
        assert_true(rig->answers[i].count <= 1);
    }
}

uint64_t provision_rig_ask(provision_rig *rig, provision_verb verb, arcp_provision_request request)
{
    const arcp_provisioner_ops *ops = rig->provisioner->ops;
    arcp_error error = {0};
    request.struct_size = sizeof request;
    request.call_id = rig->next_call++;
    if (request.alias.size == 0) {
        request.alias = ARCP_SPAN_LITERAL("cred_1");
    }
    if (request.job_id.size == 0) {
        request.job_id = ARCP_SPAN_LITERAL("job_1");
    }
    rig->is_inside = true;
    arcp_status status = ARCP_E_USAGE;
    switch (verb) {
    case PROVISION_ISSUE:
        status = ops->issue(rig->provisioner, &request, &error);
        break;
    case PROVISION_REVOKE:
        status = ops->revoke(rig->provisioner, &request, &error);
        break;
    case PROVISION_ROTATE:
        status = ops->rotate(rig->provisioner, &request, &error);
        break;
    case PROVISION_USAGE:
        status = ops->usage(rig->provisioner, &request, &error);
        break;
    }
    rig->is_inside = false;
    check_ok(status, &error);
    return request.call_id;
}

const provision_answer *provision_rig_answer(provision_rig *rig, uint64_t call_id)
{
    while (rig->answers[call_id].count == 0) {
        (void)uv_run(&rig->loop, UV_RUN_ONCE);
    }
    return &rig->answers[call_id];
}

const provision_answer *provision_rig_call(provision_rig *rig, provision_verb verb,
                                           arcp_provision_request request)
{
    return provision_rig_answer(rig, provision_rig_ask(rig, verb, request));
}
