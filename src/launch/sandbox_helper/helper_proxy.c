/* The network at level landlock: a proxy on the host's loopback interface, which the process that
 * started us serves. The variables that most programs know name it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>

#include "base/alloc.h"
#include "launch/sandbox_helper/helper.h"
#include "launch/sandbox_helper/helper_listener.h"

/* In upper and lower case, because programs read one or the other (curl reads http_proxy only in
 * lower case). Nothing is excepted: no other way leads to this host either. Node.js reads them when
 * the last one is set. */
static const char *const names[] = {"HTTP_PROXY",  "HTTPS_PROXY", "ALL_PROXY", "http_proxy",
                                    "https_proxy", "all_proxy",   "ARCP_PROXY"};
static const char *const fixed[] = {"NO_PROXY=", "no_proxy=", "NODE_USE_ENV_PROXY=1"};

enum {
    NAMES = sizeof names / sizeof names[0],
    FIXED = sizeof fixed / sizeof fixed[0],
    VARIABLE_MAX = 128,
};

static char variables[NAMES][VARIABLE_MAX];

static bool has_name_of(const char *variable, const char *other)
{
    const size_t size = strcspn(other, "=") + 1;
    return strncmp(variable, other, size) == 0;
}

static bool is_ours(const char *variable)
{
    bool is_one = false;
    for (size_t i = 0; i < NAMES; i++) {
        is_one = is_one || has_name_of(variable, variables[i]);
    }
    for (size_t i = 0; i < FIXED; i++) {
        is_one = is_one || has_name_of(variable, fixed[i]);
    }
    return is_one;
}

/* Sets the variables, instead of those that the program would have had. */
static void set_environment(arcp__helper *helper)
{
    size_t given = 0;
    size_t count = 0;
    while (helper->child.env[given] != NULL) {
        given++;
    }
    for (size_t i = 0; i < NAMES; i++) {
        (void)snprintf(variables[i], sizeof variables[i], "%s=http://arcp:%s@127.0.0.1:%u",
                       names[i], helper->proxy.secret, (unsigned)helper->proxy.port);
    }
    char **all = arcp__alloc_array(given + NAMES + FIXED + 1, sizeof *all);
    if (all == NULL) {
        errno = ENOMEM;
        arcp__helper_fail(NULL);
    }
    for (size_t i = 0; i < given; i++) {
        if (!is_ours(helper->child.env[i])) {
            all[count++] = helper->child.env[i];
        }
    }
    for (size_t i = 0; i < NAMES; i++) {
        all[count++] = variables[i];
    }
    for (size_t i = 0; i < FIXED; i++) {
        all[count++] = (char *)fixed[i];
    }
    helper->child.env = all; /* the last element is NULL */
}

void arcp__helper_proxy_open(arcp__helper *helper)
{
    unsigned char bytes[(sizeof helper->proxy.secret - 1) / 2];
    arcp__helper_begin(ARCP__HELPER_LISTENERS);
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes) {
        arcp__helper_fail("secret");
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        (void)snprintf(helper->proxy.secret + 2 * i, 3, "%02x", bytes[i]);
    }
    const int fd = arcp__helper_listener_loopback(&helper->proxy.port);
    if (fd < 0) {
        arcp__helper_fail("127.0.0.1");
    }
    arcp__helper_hand_over(&fd, 1, helper->proxy.secret, false);
    set_environment(helper);
}
