#include <arcp/sys/store.h>

arcp_status arcp_store_open(const char *url, arcp_store **out, arcp_error *err)
{
    const arcp_span text = arcp_span_cstr(url);
    if (arcp_span_equal_cstr(text, "memory:")) {
        return arcp_store_open_memory(out, err);
    }
    const arcp_span scheme = ARCP_SPAN_LITERAL("sqlite:");
    if (arcp_span_starts_with(text, scheme)) {
        return arcp_store_open_sqlite(url + scheme.size, out, err);
    }
    return arcp_error_set(err, ARCP_E_USAGE, "store \"%.*s\": must be sqlite:PATH or memory:",
                          (int)arcp_span_first(text, 160).size, text.size == 0 ? "" : text.data);
}

void arcp_store_close(arcp_store *store)
{
    if (store != NULL) {
        store->ops->close(store);
    }
}
