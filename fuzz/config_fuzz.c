/* arcpd.yaml: an error has its file and line; an accepted file is printed, and if that text can be
 * read (secrets are masked in it) it is printed in the same way. */
#include "arcpd/config.h"

#define NAME "f.yaml"

static bool read_text(arcp_span text, arcp_buf *printed)
{
    arcp__config config;
    arcp_error err = {0};
    arcp__config_init(&config);
    const arcp_status status = arcp__config_read_text(&config, NAME, text, &err);
    if (status == ARCP_OK) {
        arcp__config_print(&config, printed);
        require(!printed->failed);
    } else {
        require(status == ARCP_E_USAGE && strncmp(err.message, NAME ":", strlen(NAME ":")) == 0);
    }
    arcp__config_fini(&config);
    return status == ARCP_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp_buf printed = arcp_buf_init();
    arcp_buf again = arcp_buf_init();
    if (read_text(arcp_span_make((const char *)data, size), &printed) &&
        read_text(arcp_buf_span(&printed), &again)) {
        require(arcp_span_equal(arcp_buf_span(&printed), arcp_buf_span(&again)));
    }
    arcp_buf_fini(&printed);
    arcp_buf_fini(&again);
    return 0;
}
