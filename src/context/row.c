/* Members of stored rows. */
#include "context/context.h"

#include "base/timestamp.h"

arcp_span arcp__row_text_of(arcp__context *context, const arcp_json *row, arcp_json_ref object,
                            const char *name)
{
    return arcp_json_string(row, arcp_json_member(row, object, arcp_span_cstr(name)),
                            &context->scratch);
}

arcp_span arcp__row_text(arcp__context *context, const arcp_json *row, const char *name)
{
    return arcp__row_text_of(context, row, ARCP_JSON_ROOT, name);
}

uint64_t arcp__row_number(const arcp_json *row, const char *name)
{
    uint64_t value = 0;
    (void)arcp_json_u64(row, arcp_json_member(row, ARCP_JSON_ROOT, arcp_span_cstr(name)), &value);
    return value;
}

bool arcp__row_instant(arcp__context *context, const arcp_json *row, arcp_json_ref object,
                       const char *name, int64_t *wall_ns)
{
    arcp__instant instant;
    arcp_span text = arcp__row_text_of(context, row, object, name);
    if (arcp__timestamp_parse(text, &instant, NULL) != ARCP_OK) {
        return false;
    }
    *wall_ns = instant.wall_ns;
    return true;
}

static int nibble(char digit)
{
    if (digit >= '0' && digit <= '9') {
        return digit - '0';
    }
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

bool arcp__row_hash(arcp_span hex, uint8_t out[32])
{
    if (hex.size != 64) {
        return false;
    }
    for (size_t at = 0; at < 32; at++) {
        int high = nibble(hex.data[2 * at]);
        int low = nibble(hex.data[2 * at + 1]);
        if (high < 0 || low < 0) {
            return false;
        }
        out[at] = (uint8_t)(high * 16 + low);
    }
    return true;
}

arcp_status arcp__row_damaged(const char *what, arcp_span key, arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_CORRUPT, "the stored %s \"%.*s\" is damaged", what,
                          (int)arcp_span_first(key, 64).size, key.data);
}

arcp_status arcp__row_out_of_memory(arcp_error *err)
{
    return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
}
