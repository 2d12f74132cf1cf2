#include "core/exposition.h"

static const struct {
    const char *name, *type, *text;
} metrics[] = {
#define ARCP__METRIC(id, type, name, labels, text) {name, type, text},
#include "core/metric.def"
#undef ARCP__METRIC
};

const char *arcp__metric_name(arcp__metric metric)
{
    return metrics[metric].name;
}

void arcp__exposition_family(arcp_buf *out, arcp__metric metric)
{
    arcp_buf_append_format(out, "# HELP %s %s\n# TYPE %s %s\n", metrics[metric].name,
                           metrics[metric].text, metrics[metric].name, metrics[metric].type);
}

static void append_name(arcp_buf *out, const char *name, const char *const *labels)
{
    arcp_buf_append_cstr(out, name);
    if (labels == NULL || labels[0] == NULL) {
        arcp_buf_append_byte(out, ' ');
        return;
    }
    for (size_t i = 0; labels[i] != NULL; i += 2) {
        arcp_buf_append_byte(out, i == 0 ? '{' : ',');
        arcp_buf_append_cstr(out, labels[i]);
        arcp_buf_append_cstr(out, "=\"");
        for (const char *value = labels[i + 1]; *value != '\0'; value++) {
            if (*value == '\\' || *value == '"' || *value == '\n') {
                arcp_buf_append_byte(out, '\\');
            }
            arcp_buf_append_byte(out, *value == '\n' ? 'n' : *value);
        }
        arcp_buf_append_byte(out, '"');
    }
    arcp_buf_append_cstr(out, "} ");
}

void arcp__exposition_text(arcp_buf *out, const char *name, const char *const *labels,
                           arcp_span value)
{
    append_name(out, name, labels);
    arcp_buf_append(out, value);
    arcp_buf_append_byte(out, '\n');
}

void arcp__exposition_u64(arcp_buf *out, const char *name, const char *const *labels,
                          uint64_t value)
{
    append_name(out, name, labels);
    arcp_buf_append_u64(out, value);
    arcp_buf_append_byte(out, '\n');
}

void arcp__exposition_one(arcp_buf *out, arcp__metric metric, uint64_t value)
{
    arcp__exposition_family(out, metric);
    arcp__exposition_u64(out, metrics[metric].name, NULL, value);
}
