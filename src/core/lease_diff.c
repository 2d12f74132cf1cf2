/* Two leases, each measured against the other. */
#include <arcp/lease_explain.h>

#include "core/lease_subset.h"
#include "json/json_put.h"

/* Receives each violation: the first one of each capability, and the expiry. */
typedef struct listing {
    arcp_json_writer *writer; /* NULL: lines of text */
    arcp_buf *out;
    size_t count;
} listing;

static void list_violation(listing *list, const arcp_subset_violation *violation)
{
    list->count++;
    if (list->writer != NULL) {
        arcp_buf details = ARCP_BUF_INIT;
        arcp_subset_violation_format_details(violation, &details);
        list->out->failed = list->out->failed || details.failed;
        arcp_json_write_raw(list->writer, arcp_buf_span(&details));
        arcp_buf_fini(&details);
        return;
    }
    arcp_buf_append_cstr(list->out, "  ");
    arcp_buf_append(list->out, violation->capability);
    arcp_buf_append_byte(list->out, ' ');
    arcp_json_quote(violation->child_pattern, list->out);
    if (violation->code == ARCP_DENY_TOO_COMPLEX) {
        arcp_buf_append_cstr(list->out, ": cannot be decided within the bound\n");
        return;
    }
    arcp_buf_append_cstr(list->out, ": for example ");
    arcp_json_quote(arcp_buf_span(&violation->witness), list->out);
    arcp_buf_append_byte(list->out, '\n');
}

static arcp_status list_violations(const arcp_lease *child, const arcp_lease *parent, listing *list)
{
    const arcp__subset_parent as_written = {.lease = parent};
    arcp_subset_violation violation = ARCP_SUBSET_VIOLATION_INIT;
    arcp_status status = ARCP_OK;
    for (size_t i = 0; i <= child->count && status == ARCP_OK; i++) {
        bool is_subset = true;
        status = i < child->count
                     ? arcp__subset_check_capability(&child->capabilities[i], child, as_written,
                                                     &is_subset, &violation)
                     : arcp__subset_check_expiry(child, as_written, &is_subset, &violation);
        if (status == ARCP_OK && !is_subset) {
            list_violation(list, &violation);
        }
    }
    arcp_subset_violation_fini(&violation);
    return status;
}

static arcp_status diff_as_json(const arcp_lease *a, const arcp_lease *b, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_array(&writer, "only_a");
    listing list = {&writer, out, 0};
    arcp_status status = list_violations(a, b, &list);
    arcp_json_end_array(&writer);
    arcp__put_array(&writer, "only_b");
    const size_t only_a = list.count;
    if (status == ARCP_OK) {
        status = list_violations(b, a, &list);
    }
    arcp_json_end_array(&writer);
    arcp__put_bool(&writer, "a_within_b", only_a == 0);
    arcp__put_bool(&writer, "b_within_a", list.count == only_a);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
    return status;
}

static arcp_status diff_as_text(const arcp_lease *a, const arcp_lease *b, arcp_buf *out)
{
    arcp_buf lines[2] = {ARCP_BUF_INIT, ARCP_BUF_INIT};
    listing lists[2] = {{NULL, &lines[0], 0}, {NULL, &lines[1], 0}};
    arcp_status status = list_violations(a, b, &lists[0]);
    if (status == ARCP_OK) {
        status = list_violations(b, a, &lists[1]);
    }
    const bool within[2] = {lists[0].count == 0, lists[1].count == 0};
    if (status == ARCP_OK && within[0] && within[1]) {
        arcp_buf_append_cstr(out, "A and B allow the same\n");
    } else if (status == ARCP_OK) {
        arcp_buf_append_cstr(out, within[0] ? "A is within B\n" : "A allows what B does not:\n");
        arcp_buf_append(out, arcp_buf_span(&lines[0]));
        arcp_buf_append_cstr(out, within[1] ? "B is within A\n" : "B allows what A does not:\n");
        arcp_buf_append(out, arcp_buf_span(&lines[1]));
    }
    out->failed = out->failed || lines[0].failed || lines[1].failed;
    arcp_buf_fini(&lines[0]);
    arcp_buf_fini(&lines[1]);
    return status;
}

arcp_status arcp_lease_diff(const arcp_lease *a, const arcp_lease *b, bool as_json, arcp_buf *out)
{
    const arcp_status status = as_json ? diff_as_json(a, b, out) : diff_as_text(a, b, out);
    return status == ARCP_OK ? arcp_buf_status(out) : status;
}
