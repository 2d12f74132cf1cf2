/* Starts arcp-sandbox: the plan's text goes into a sealed file, so that it cannot change while the
 * helper reads it. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/directory.h"
#include "base/options.h"
#include "launch/fault.h"
#include "launch/launcher_plan.h"

int arcp__launch_seal(arcp_span plan)
{
    const int fd = memfd_create("plan", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (!arcp__write_all(fd, plan) ||
         fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0)) {
        const int number = errno;
        arcp__close(fd);
        errno = number;
        return -1;
    }
    return fd;
}

arcp_status arcp__launch_plan_confine(arcp__launch_plan *plan, const arcp_confinement *given,
                                      const char *path, arcp_error *err)
{
    arcp_confinement confinement = arcp_confinement_init();
    arcp_status status =
        arcp__options_take(&confinement, given, sizeof confinement, "arcp_confinement", err);
    if (status != ARCP_OK) {
        return status;
    }
    if (confinement.plan.size == 0 || confinement.control_fd < 0) {
        return arcp_error_set(err, ARCP_E_USAGE, "a confinement needs a plan and a control socket");
    }
    const arcp__launch_helper helper = {
        .name = "arcp-sandbox",
        .path = path,
        .purpose = "a sandbox",
        .view = {.etc = confinement.etc, .ca_certificate = confinement.ca_certificate}};
    status = arcp__launch_plan_use(plan, &helper, err);
    if (status != ARCP_OK) {
        return status;
    }
    plan->sandbox_fd = arcp__launch_seal(confinement.plan);
    if (plan->sandbox_fd < 0) {
        return arcp_error_set(err, ARCP_E_IO, "the plan for arcp-sandbox cannot be written: %s",
                              strerror(errno));
    }
    plan->child.env = arcp__fault_environment();
    plan->files.from[ARCP__LAUNCH_PLAN_FD] = plan->sandbox_fd;
    plan->files.from[ARCP__LAUNCH_CONTROL_FD] = confinement.control_fd;
    plan->files.count = ARCP__LAUNCH_FD_COUNT;
    plan->files.begins_session = !confinement.has_terminal;
    return ARCP_OK;
}
