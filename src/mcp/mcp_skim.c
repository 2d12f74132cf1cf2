#include "mcp/mcp.h"

#include "base/utf8.h"

static void token_add(arcp__mcp_skim *skim, char byte)
{
    if (skim->token_size < sizeof skim->token) {
        skim->token[skim->token_size] = byte;
    }
    skim->token_size += skim->token_size <= sizeof skim->token;
}

/* The end of a member, or of the object: a comma or a brace follows its value. */
static void value_ends(arcp__mcp_skim *skim)
{
    if (skim->in_id) {
        skim->ids += skim->ids < 2;
        skim->id_size = skim->token_size <= sizeof skim->token ? skim->token_size : 0;
        memcpy(skim->id, skim->token, skim->id_size);
    }
    skim->in_id = false;
    skim->in_name = true;
    skim->token_size = 0;
}

static void name_ends(arcp__mcp_skim *skim)
{
    static const char id[] = "\"id\"";
    skim->in_id =
        skim->token_size == sizeof id - 1 && memcmp(skim->token, id, skim->token_size) == 0;
    skim->in_name = false;
    skim->token_size = 0;
}

static void take_string(arcp__mcp_skim *skim, char byte)
{
    if (skim->in_name || skim->in_id) {
        token_add(skim, byte);
    }
    if (skim->is_escaped) {
        skim->is_escaped = false;
    } else if (byte == '\\') {
        skim->is_escaped = true;
    } else if (byte == '"') {
        skim->in_string = false;
    }
}

static void take_nested(arcp__mcp_skim *skim, char byte)
{
    if (byte == '"') {
        skim->in_string = true;
    } else if (byte == '{' || byte == '[') {
        skim->depth++;
    } else if (byte == '}' || byte == ']') {
        skim->depth--;
    }
}

/* Between the members of the outermost object. */
static void take_member(arcp__mcp_skim *skim, char byte)
{
    switch (byte) {
    case ',':
        value_ends(skim);
        break;
    case ':':
        name_ends(skim);
        break;
    case '}':
    case ']':
        value_ends(skim);
        skim->is_over = true;
        break;
    case '{':
    case '[': /* an object is no id; what it holds is not collected */
        skim->depth++;
        skim->in_name = false;
        skim->ids += skim->in_id ? 2 : 0;
        skim->in_id = false;
        break;
    case ' ':
    case '\t':
    case '\r':
        break;
    default:
        if (skim->in_name || skim->in_id) {
            token_add(skim, byte);
        }
        skim->in_string = byte == '"';
        break;
    }
}

void arcp__mcp_skim_feed(arcp__mcp_skim *skim, arcp_span bytes)
{
    for (size_t i = 0; i < bytes.size && !skim->is_over; i++) {
        const char byte = bytes.data[i];
        if (skim->in_string) {
            take_string(skim, byte);
        } else if (skim->depth == 1) {
            take_member(skim, byte);
        } else if (skim->depth > 1) {
            take_nested(skim, byte);
        } else if (byte == '{') {
            skim->depth = 1;
            skim->in_name = true;
        } else if (byte != ' ' && byte != '\t' && byte != '\r') {
            skim->is_over = true;
        }
    }
}

/* A string without escapes, or an integer: what clients use. */
static bool is_id(arcp_span text)
{
    const bool is_string = text.size >= 2 && text.data[0] == '"';
    const size_t first = is_string || (text.size > 1 && text.data[0] == '-') ? 1 : 0;
    const size_t last = is_string ? text.size - 1 : text.size;
    for (size_t i = first; i < last; i++) {
        const unsigned char byte = (unsigned char)text.data[i];
        if (is_string ? byte < 0x20 || byte == '\\' || byte == '"' : byte < '0' || byte > '9') {
            return false;
        }
    }
    return is_string ? text.data[last] == '"' && arcp__utf8_is_valid(text)
                     : last > first && (text.data[first] != '0' || last == first + 1);
}

arcp_span arcp__mcp_skim_id(const arcp__mcp_skim *skim)
{
    const arcp_span id = arcp_span_make(skim->id, skim->id_size);
    return skim->ids == 1 && is_id(id) ? id : arcp_span_make(NULL, 0);
}
