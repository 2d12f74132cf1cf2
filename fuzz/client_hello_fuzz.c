/* The first bytes of a connection: every beginning of them is read, and what was decided of one
 * beginning is decided of all longer ones. */
#include "egress/egress_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    arcp__egress_hello hello;
    arcp__egress_hello_result before = ARCP__EGRESS_HELLO_MORE;
    char name[sizeof hello.name] = "";
    const size_t step = size > 600 ? size / 300 : 1;
    for (size_t i = 0;; i = i + step < size ? i + step : size) {
        const arcp__egress_hello_result result =
            arcp__egress_hello_read(arcp_span_make((const char *)data, i), &hello);
        require(i > 0 || result == ARCP__EGRESS_HELLO_MORE);
        require(before == ARCP__EGRESS_HELLO_MORE || result == before);
        require(before != ARCP__EGRESS_HELLO_NAMED || strcmp(name, hello.name) == 0);
        require(i < ARCP__EGRESS_HELLO_MAX || result != ARCP__EGRESS_HELLO_MORE);
        require((result == ARCP__EGRESS_HELLO_NAMED) == (hello.name[0] != '\0'));
        if (result == ARCP__EGRESS_HELLO_NAMED) {
            char canonical[sizeof name];
            require(arcp__egress_name_canonical(arcp_span_cstr(hello.name), canonical));
            require(strcmp(canonical, hello.name) == 0);
        }
        before = result;
        memcpy(name, hello.name, sizeof name);
        if (i == size) {
            return 0;
        }
    }
}
