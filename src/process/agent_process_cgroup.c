/* The cgroup of a process, by which all that it starts is limited and killed. */
#include "process/process_state.h"

arcp_status arcp__agent_process_take_cgroup(arcp__agent_process *process,
                                            const arcp__process_spec *spec,
                                            arcp_launch_spec *launch, arcp_error *err)
{
    arcp__cgroups *cgroups = process->table->cgroups;
    const arcp__cgroup_limits none = {.pids = 0};
    const arcp__cgroup_limits *limits =
        spec->confinement == NULL ? &none : &spec->confinement->limits;
    process->cgroup = arcp__cgroups_take(cgroups, &process->cgroup_fd);
    const arcp_status status =
        arcp__cgroups_limit(cgroups, process->cgroup, limits, process->limit_fds, err);
    size_t count = 0;
    for (size_t i = 0; i < ARCP__CGROUP_LIMITS; i++) { /* open ones first */
        const int fd = process->limit_fds[i];
        if (fd >= 0) {
            process->limit_fds[i] = -1;
            process->limit_fds[count++] = fd;
        }
    }
    launch->cgroup_fd = process->cgroup_fd;
    launch->cgroup_fds = process->limit_fds;
    launch->cgroup_fd_count = count;
    return status;
}
