#include "arcp/run.h"

#include <string.h>

#include "base/digits.h"
#include "base/directory.h"
#include "sandbox/sandbox.h"

#define MEMORY_BYTES_MIN (1U << 20)

/* Digits, with K, M or G behind them for powers of 1024. */
static bool parse_bytes(const char *text, uint64_t *out)
{
    static const char units[] = "KMG";
    const size_t digits = strspn(text, "0123456789");
    const char *unit = text[digits] == '\0' ? NULL : strchr(units, text[digits]);
    const unsigned shift = unit == NULL ? 0 : 10 * (unsigned)(unit - units + 1);
    const bool has_end = text[digits] == '\0' || (unit != NULL && text[digits + 1] == '\0');
    if (!has_end || !arcp__digits_parse(arcp_span_make(text, digits), out) ||
        *out > UINT64_MAX >> shift) {
        return false;
    }
    *out <<= shift;
    return true;
}

arcp_status arcp__run_read_limits(arcp__run *run, arcp_error *err)
{
    const char *memory = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_MEMORY);
    const char *given = arcp__value(&run->program->arguments, ARCP__OPTION_RUN_PIDS);
    uint64_t pids = 0;
    if (memory != NULL && (!parse_bytes(memory, &run->request.limits.memory_bytes) ||
                           run->request.limits.memory_bytes < MEMORY_BYTES_MIN)) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--memory: '%.64s' is not a number of bytes from 1M, such as 500M or "
                              "2G",
                              memory);
    }
    if (given == NULL) {
        return ARCP_OK;
    }
    if (!arcp__digits_parse(arcp_span_cstr(given), &pids) || pids == 0 ||
        pids > ARCP__RUN_PIDS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "--pids: '%.64s' is not a number from 1 to %d",
                              given, ARCP__RUN_PIDS_MAX);
    }
    run->request.limits.pids = (uint32_t)pids;
    return ARCP_OK;
}

void arcp__run_find_cgroups(arcp__run *run)
{
    const arcp__sandbox_request *request = &run->request;
    unsigned limits = arcp__sandbox_cgroup_limits(&request->limits, &request->abilities);
    if (arcp__value(&run->program->arguments, ARCP__OPTION_RUN_PIDS) == NULL) {
        limits &= ~(unsigned)ARCP__SANDBOX_LIMIT_PIDS; /* the default is worth no cgroup */
    }
    if (limits == 0) {
        return;
    }
    run->cgroups = arcp__cgroups_open();
    run->request.limits.by_cgroup = limits & arcp__cgroups_find_limits(run->cgroups);
}

arcp_status arcp__run_cgroup_take(const arcp__run *run, arcp__run_cgroup *out, arcp_error *err)
{
    const arcp__cgroup_limits set = arcp__cgroup_limits_of(&run->plan->limits);
    *out = (arcp__run_cgroup){.directory_fd = -1, .fds = {-1, -1, -1}};
    if (run->plan->limits.by_cgroup == 0) {
        return ARCP_OK;
    }
    out->number = arcp__cgroups_take(run->cgroups, &out->directory_fd);
    return arcp__cgroups_limit(run->cgroups, out->number, &set, out->fds, err);
}

void arcp__run_cgroup_close(arcp__run_cgroup *cgroup)
{
    arcp__close(cgroup->directory_fd);
    cgroup->directory_fd = -1;
    arcp__cgroup_close(cgroup->fds);
}
