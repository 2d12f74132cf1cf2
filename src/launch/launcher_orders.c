/* Writes orders; launcher_orders_read.c, which arcp-agent-exec links without anything else of ours,
 * reads them. */
#include "launch/launcher_orders.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <arcp/buf.h>

#include "base/directory.h"

/* With its NUL; NULL is "". */
static void append_text(arcp_buf *to, const char *text)
{
    arcp_buf_append(to,
                    arcp_span_make(text == NULL ? "" : text, text == NULL ? 1 : strlen(text) + 1));
}

/* Appends a NULL-terminated list and returns its length. */
static size_t append_texts(arcp_buf *to, char *const *texts)
{
    size_t count = 0;
    for (; texts[count] != NULL; count++) {
        append_text(to, texts[count]);
    }
    return count;
}

arcp_status arcp__launch_orders_write(const arcp__launch_child *child,
                                      const arcp__launch_view *view, int *fd, arcp_error *err)
{
    arcp__launch_orders orders;
    arcp_buf texts = arcp_buf_init();
    if (child->limit_count > ARCP__LAUNCH_LIMITS_MAX) {
        return arcp_error_set(err, ARCP_E_USAGE, "an agent can have at most %d resource limits",
                              ARCP__LAUNCH_LIMITS_MAX);
    }
    append_text(&texts, child->cwd);
    append_text(&texts, view->etc);
    append_text(&texts, view->ca_certificate);
    append_text(&texts, child->program);
    memset(&orders, 0, sizeof orders); /* including padding */
    orders.struct_size = sizeof orders;
    orders.argc = append_texts(&texts, child->argv);
    orders.env_count = append_texts(&texts, child->env);
    orders.parent = child->parent;
    orders.switch_user = child->switch_user;
    orders.uid = child->uid;
    orders.gid = child->gid;
    orders.group_count = (uint32_t)child->group_count;
    orders.limit_count = child->limit_count;
    if (child->group_count != 0) {
        memcpy(orders.groups, child->groups, child->group_count * sizeof *child->groups);
    }
    if (child->limit_count != 0) {
        memcpy(orders.limits, child->limits, child->limit_count * sizeof *child->limits);
    }
    arcp_status status = ARCP_OK;
    const int file = memfd_create("orders", MFD_CLOEXEC);
    if (texts.failed) {
        status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    } else if (file < 0 ||
               !arcp__write_all(file, arcp_span_make((const char *)&orders, sizeof orders)) ||
               !arcp__write_all(file, arcp_buf_span(&texts))) {
        status = arcp_error_set(err, ARCP_E_IO, "the orders for a helper cannot be written: %s",
                                strerror(errno));
    }
    arcp_buf_fini(&texts);
    if (status != ARCP_OK) {
        arcp__close(file);
        return status;
    }
    *fd = file;
    return ARCP_OK;
}
