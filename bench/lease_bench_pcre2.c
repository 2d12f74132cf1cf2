#include "lease_bench_peer.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdlib.h>

#include <arcp/buf.h>

struct peer {
    pcre2_code *code;
    pcre2_match_data *match;
};

const char *peer_name(void)
{
    return "PCRE2-JIT";
}

/* Close enough to our grammar for the patterns of the benchmark: whole segments at the end
 * may be nothing. */
static void append_pattern(arcp_buf *out, arcp_span pattern, const char *separators)
{
    for (size_t i = 0; i < pattern.size; i++) {
        const char byte = pattern.data[i];
        const bool is_double = byte == '*' && i + 1 < pattern.size && pattern.data[i + 1] == '*';
        if (byte == '/' && i + 3 == pattern.size && memcmp(pattern.data + i, "/**", 3) == 0) {
            arcp_buf_append_cstr(out, "(?:/.*)?+");
            return;
        }
        if (is_double) {
            arcp_buf_append_cstr(out, ".*");
            i++;
        } else if (byte == '*') {
            arcp_buf_append_format(out, "[^%s]*", separators);
        } else {
            arcp_buf_append_format(out, "\\x%02x", (unsigned)(unsigned char)byte);
        }
    }
}

peer *peer_new(const arcp_span *patterns, size_t count, const char *separators)
{
    arcp_buf text = arcp_buf_init();
    arcp_buf_append_cstr(&text, "\\A(?:");
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(&text, i == 0 ? "" : "|");
        append_pattern(&text, patterns[i], separators);
    }
    arcp_buf_append_cstr(&text, ")\\z");
    int error = 0;
    PCRE2_SIZE offset = 0;
    peer *made = calloc(1, sizeof *made);
    pcre2_code *code =
        pcre2_compile((PCRE2_SPTR)text.data, text.size, PCRE2_DOTALL, &error, &offset, NULL);
    arcp_buf_fini(&text);
    if (made == NULL || code == NULL || pcre2_jit_compile(code, PCRE2_JIT_COMPLETE) != 0) {
        pcre2_code_free(code);
        free(made);
        return NULL;
    }
    made->code = code;
    made->match = pcre2_match_data_create(4, NULL);
    return made;
}

bool peer_matches(peer *compiled, arcp_span target)
{
    return pcre2_jit_match(compiled->code, (PCRE2_SPTR)target.data, target.size, 0, 0,
                           compiled->match, NULL) >= 0;
}

void peer_free(peer *compiled)
{
    if (compiled != NULL) {
        pcre2_match_data_free(compiled->match);
        pcre2_code_free(compiled->code);
        free(compiled);
    }
}
