/* A query of DNS: what is answered of any bytes. The lease reaches api.example, *.wild.example and
 * their like. */
#include <arcp/gate.h>

#include "egress/egress_dns.h"

static arcp__egress_names *names_of(const char *first, const char *second)
{
    arcp_lease_builder *builder = arcp_lease_builder_new();
    arcp_lease *lease = NULL;
    arcp__egress_names *names = NULL;
    require(builder != NULL);
    arcp_lease_allow(builder, "net.fetch", first);
    arcp_lease_allow(builder, "net.fetch", second);
    require(arcp_lease_build(builder, &lease, NULL) == ARCP_OK);
    require(arcp__egress_names_new(lease, &names, NULL) == ARCP_OK);
    arcp_lease_unref(lease);
    return names;
}

static unsigned byte_at(const arcp__egress_dns_answer *answer, size_t at)
{
    require(at < answer->size);
    return (unsigned char)answer->bytes[at];
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static arcp__egress_names *names;
    if (names == NULL) {
        names = names_of("https://api.example/**", "*://*.wild.example:8443/**");
    }
    const arcp_span query = arcp_span_make((const char *)data, size);
    arcp__egress_dns_answer answer;
    arcp__egress_dns_respond(names, query, &answer);
    require(answer.size <= sizeof answer.bytes);
    require(memchr(answer.name, '\0', sizeof answer.name) != NULL);
    require(answer.size > 0 || !answer.is_denied);
    if (answer.size == 0) {
        require(size < 12 || (data[2] & 0x80) != 0);
        return 0;
    }
    require(answer.size >= 12 && memcmp(answer.bytes, data, 2) == 0);
    require((byte_at(&answer, 2) & 0x80) != 0);
    const unsigned code = byte_at(&answer, 3) & 0xf;
    require(answer.is_denied ? code == 3 : true);
    const size_t questions = byte_at(&answer, 5);
    require(byte_at(&answer, 4) == 0 && questions <= 1);
    const size_t record = byte_at(&answer, 7) == 0 ? 0 : 16;
    /* The question comes back as it was asked; an address belongs to the name that was asked for,
     * and the lease reaches that. */
    require(answer.size <= size + record);
    require(questions == 0 ? answer.size == 12
                           : memcmp(answer.bytes + 12, data + 12, answer.size - 12 - record) == 0);
    if (record != 0) {
        const size_t at = answer.size - 4;
        const uint32_t address = byte_at(&answer, at) << 24 | byte_at(&answer, at + 1) << 16 |
                                 byte_at(&answer, at + 2) << 8 | byte_at(&answer, at + 3);
        char name[ARCP__EGRESS_NAME_MAX + 1];
        require(code == 0 && !answer.is_denied && address >> 17 == 0xc612U >> 1);
        require(arcp__egress_name_canonical(arcp_span_cstr(answer.name), name));
        require(arcp_span_equal_cstr(arcp__egress_names_find(names, address), name));
        require(strcmp(name, "api.example") == 0 ||
                arcp_span_ends_with(arcp_span_cstr(name), ARCP_SPAN_LITERAL(".wild.example")));
    }
    return 0;
}
