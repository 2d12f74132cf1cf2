#include "launch/sandbox_helper/helper_capabilities.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct sets {
    struct __user_cap_data_struct data[_LINUX_CAPABILITY_U32S_3];
} sets;

static bool read_sets(sets *out)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(SYS_capget, &header, out->data) == 0;
}

/* prctl answers -1 to the first number that is no capability of this kernel. */
static bool empty_bounding_set(void)
{
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
        if (prctl(PR_CAPBSET_DROP, i, 0, 0, 0) != 0) {
            return false;
        }
    }
    return true;
}

static bool is_in_no_set(bool is_bounded)
{
    for (unsigned long i = 0; prctl(PR_CAPBSET_READ, i, 0, 0, 0) >= 0; i++) {
        if ((is_bounded && prctl(PR_CAPBSET_READ, i, 0, 0, 0) != 0) ||
            prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, i, 0, 0) != 0) {
            return false;
        }
    }
    sets now;
    if (!read_sets(&now)) {
        return false;
    }
    for (size_t i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        if ((now.data[i].effective | now.data[i].permitted | now.data[i].inheritable) != 0) {
            return false;
        }
    }
    return true;
}

int arcp__helper_capabilities_drop(void)
{
    sets before;
    if (!read_sets(&before)) {
        return errno;
    }
    const bool may_bound =
        (before.data[CAP_TO_INDEX(CAP_SETPCAP)].effective & CAP_TO_MASK(CAP_SETPCAP)) != 0;
    if ((may_bound && !empty_bounding_set()) ||
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) != 0 ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
        return errno;
    }
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    const sets none = {0};
    if (syscall(SYS_capset, &header, none.data) != 0) {
        return errno;
    }
    return prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1 && is_in_no_set(may_bound) ? 0 : EPERM;
}
