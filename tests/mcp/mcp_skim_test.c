/* The id of a message that cannot be read as a whole. */
#include "support/check.h"

#include "mcp/mcp.h"

typedef struct skim_row {
    const char *name;
    const char *text;
    const char *id; /* "": none */
} skim_row;

#define TEN "0123456789"
#define ID_OF_254                                                                                  \
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN    \
        TEN TEN "0123"

static const skim_row rows[] = {
    {"an id that comes first", "{\"id\":7,\"method\":\"x\"}", "7"},
    {"an id that comes last", "{\"method\":\"x\",\"params\":{\"a\":[1,{}]},\"id\":\"b\"}", "\"b\""},
    {"white space around it", " { \"id\" :\t-3 , \"x\":1}", "-3"},
    {"a text with brackets and quotes before it", "{\"a\":\"}\\\",\\\\\",\"id\":1}", "1"},
    {"an id in the parameters", "{\"params\":{\"id\":9}}", ""},
    {"an id in a list", "{\"params\":[{\"id\":9}],\"x\":1}", ""},
    {"an id as a value", "{\"x\":\"id\",\"y\":1}", ""},
    {"a message that is cut before the end of its id", "{\"id\":12", ""},
    {"a message that is cut behind its id", "{\"id\":12,\"params\":{\"a", "12"},
    {"two ids", "{\"id\":1,\"id\":1}", ""},
    {"an id that is an object", "{\"id\":{\"a\":1},\"x\":2}", ""},
    {"an object, and an id", "{\"id\":{\"a\":1},\"id\":2}", ""},
    {"an id that is null", "{\"id\":null}", ""},
    {"an id with a leading zero", "{\"id\":01}", ""},
    {"zero", "{\"id\":0}", "0"},
    {"a sign without digits", "{\"id\":-}", ""},
    {"an id with an escape", "{\"id\":\"\\u0061\"}", ""},
    {"an id that is not UTF-8", "{\"id\":\"\xff\"}", ""},
    {"an id with text behind it", "{\"id\":\"a\"b\"\"}", ""},
    {"a fraction", "{\"id\":1.5}", ""},
    {"an id that is no JSON", "{\"id\":1x,\"a\":1}", ""},
    {"a batch", "[{\"id\":1}]", ""},
    {"a second object", "{\"a\":1}{\"id\":1}", ""},
    {"an id of 256 bytes", "{\"id\":\"" ID_OF_254 "\"}", "\"" ID_OF_254 "\""},
    {"an id of 257 bytes", "{\"id\":\"" ID_OF_254 "5\"}", ""},
    {"a name of many bytes", "{\"" ID_OF_254 ID_OF_254 "\":1,\"id\":4}", "4"},
    {"nothing", "", ""},
};

static void check_row(void **state)
{
    const skim_row *row = *state;
    const arcp_span text = arcp_span_cstr(row->text);
    arcp__mcp_skim whole = {0};
    arcp__mcp_skim bytes = {0};
    arcp__mcp_skim_feed(&whole, text);
    for (size_t i = 0; i < text.size; i++) {
        arcp__mcp_skim_feed(&bytes, arcp_span_make(text.data + i, 1));
    }
    check_span(arcp__mcp_skim_id(&whole), row->id);
    check_span(arcp__mcp_skim_id(&bytes), row->id);
}

int main(void)
{
    return run_rows(rows, sizeof rows / sizeof rows[0], sizeof rows[0], check_row);
}
