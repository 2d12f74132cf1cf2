/* Iterates over the rows of a configuration: defaults, freeing, reading and printing; and the two
 * types that contain other values, groups and lists. */
#include "config/config.h"

#include "base/alloc.h"

void *arcp__config_value(const arcp__config_row *row, const void *owner)
{
    return (char *)owner + row->offset;
}

size_t arcp__config_list_count(const arcp__config_row *row, const void *owner)
{
    return *(const size_t *)(const void *)((const char *)owner + row->count_offset);
}

/* The pointer to the items has a different type in each struct, so its bytes are copied. */
static void *items_of(const arcp__config_row *row, const void *owner)
{
    void *items = NULL;
    memcpy(&items, arcp__config_value(row, owner), sizeof items);
    return items;
}

void *arcp__config_list_item(const arcp__config_row *row, const void *owner, size_t index)
{
    return (char *)items_of(row, owner) + index * row->item->size;
}

bool arcp__config_is_nothing(arcp_span printed)
{
    return arcp_span_equal_cstr(printed, "null") || arcp_span_equal_cstr(printed, "[]") ||
           arcp_span_equal_cstr(printed, "{}");
}

/* ---- defaults and freeing ---- */

void arcp__config_fields_init(const arcp__config_fields *fields, void *owner)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->rows[i].type->init != NULL) {
            fields->rows[i].type->init(&fields->rows[i], owner);
        }
    }
}

void arcp__config_fields_fini(const arcp__config_fields *fields, void *owner)
{
    for (size_t i = 0; i < fields->count; i++) {
        if (fields->rows[i].type->fini != NULL) {
            fields->rows[i].type->fini(&fields->rows[i], owner);
        }
    }
}

/* ---- reading ---- */

typedef struct struct_reading {
    const arcp__config_fields *fields;
    void *owner;
} struct_reading;

static arcp_status read_value(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_status status = row->type->read(r, row, owner);
    return status == ARCP_OK && row->accept != NULL ? row->accept(r, row, owner) : status;
}

static arcp_status read_member(arcp__yaml_reader *r, void *user, arcp_span key)
{
    const struct_reading *into = user;
    const arcp__config_fields *fields = into->fields;
    for (size_t i = 0; i < fields->count; i++) {
        if (arcp_span_equal_cstr(key, fields->rows[i].key)) {
            return read_value(r, &fields->rows[i], into->owner);
        }
    }
    return fields->others == NULL ? ARCP_E_NOT_FOUND
                                  : fields->others->read(r, fields->group, into->owner, key);
}

arcp_status arcp__config_fields_read(arcp__yaml_reader *r, const arcp__config_fields *fields,
                                     void *owner)
{
    struct_reading into = {fields, owner};
    const arcp_status status = arcp__yaml_members(r, read_member, &into);
    return status == ARCP_OK && fields->check != NULL ? fields->check(r, owner) : status;
}

/* ---- printing ---- */

/* Marks `out` as failed if memory runs out. */
static bool has_value(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    bool found = false;
    if (row->fields != NULL) {
        for (size_t i = 0; i < row->fields->count && !found; i++) {
            found = has_value(&row->fields->rows[i], arcp__config_value(row, owner), out);
        }
        return found;
    }
    arcp_buf text = arcp_buf_init();
    row->type->print(row, owner, &text);
    out->failed = out->failed || text.failed;
    found = !arcp__config_is_nothing(arcp_buf_span(&text));
    arcp_buf_fini(&text);
    return found;
}

static bool is_printed(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    return (row->applies == NULL || row->applies(owner)) &&
           ((row->flags & ARCP__CONFIG_SPARSE) == 0 || has_value(row, owner, out));
}

static void print_block(const arcp__config_fields *fields, const void *owner, unsigned indent,
                        bool is_begun, arcp_buf *out);

/* Prints each item after "- "; further lines of an item are indented like its first line. */
static void print_items(const arcp__config_row *row, const void *owner, unsigned indent,
                        arcp_buf *out)
{
    for (size_t i = 0; i < arcp__config_list_count(row, owner); i++) {
        const void *item = arcp__config_list_item(row, owner, i);
        arcp_buf_append_format(out, "%*s- ", (int)indent, "");
        if (row->item->fields->is_flow) {
            row->item->type->print(row->item, item, out);
            arcp_buf_append_byte(out, '\n');
        } else {
            print_block(row->item->fields, item, indent + 2, true, out);
        }
    }
}

/* `is_begun`: the first line already has its indentation. */
static void print_block(const arcp__config_fields *fields, const void *owner, unsigned indent,
                        bool is_begun, arcp_buf *out)
{
    for (size_t i = 0; i < fields->count; i++) {
        const arcp__config_row *row = &fields->rows[i];
        if (!is_printed(row, owner, out)) {
            continue;
        }
        arcp_buf_append_format(out, "%*s%s:", is_begun ? 0 : (int)indent, "", row->key);
        is_begun = false;
        if (row->fields != NULL && !row->fields->is_flow) {
            arcp_buf_append_byte(out, '\n');
            print_block(row->fields, arcp__config_value(row, owner), indent + 2, false, out);
        } else if (row->item != NULL && row->item->fields != NULL) {
            arcp_buf_append_byte(out, '\n');
            print_items(row, owner, indent + 2, out);
        } else {
            arcp_buf_append_byte(out, ' ');
            row->type->print(row, owner, out);
            arcp_buf_append_byte(out, '\n');
        }
    }
    if (fields->others != NULL) {
        fields->others->print(fields->group, owner, indent, out);
    }
}

void arcp__config_fields_print(const arcp__config_fields *fields, const void *owner, arcp_buf *out)
{
    print_block(fields, owner, 0, false, out);
}

/* ---- groups ---- */

static void group_init(const arcp__config_row *row, void *owner)
{
    arcp__config_fields_init(row->fields, arcp__config_value(row, owner));
}

static void group_fini(const arcp__config_row *row, void *owner)
{
    arcp__config_fields_fini(row->fields, arcp__config_value(row, owner));
}

static arcp_status group_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    const arcp_status status =
        arcp__config_places_add(r->places, r->path, r->node->start_mark.line + 1, r->err);
    return status == ARCP_OK
               ? arcp__config_fields_read(r, row->fields, arcp__config_value(row, owner))
               : status;
}

static void group_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const void *value = arcp__config_value(row, owner);
    const char *separator = "";
    arcp_buf_append_byte(out, '{');
    for (size_t i = 0; i < row->fields->count; i++) {
        const arcp__config_row *member = &row->fields->rows[i];
        if (is_printed(member, value, out)) {
            arcp_buf_append_format(out, "%s%s: ", separator, member->key);
            member->type->print(member, value, out);
            separator = ", ";
        }
    }
    arcp_buf_append_byte(out, '}');
}

const arcp__config_type arcp__config_group = {
    .init = group_init, .fini = group_fini, .read = group_read, .print = group_print};

/* ---- lists ---- */

static void list_set(const arcp__config_row *row, void *owner, void *items, size_t count)
{
    memcpy(arcp__config_value(row, owner), &items, sizeof items);
    *(size_t *)(void *)((char *)owner + row->count_offset) = count;
}

static void list_fini(const arcp__config_row *row, void *owner)
{
    for (size_t i = 0; i < arcp__config_list_count(row, owner); i++) {
        if (row->item->type->fini != NULL) {
            row->item->type->fini(row->item, arcp__config_list_item(row, owner, i));
        }
    }
    arcp__free(items_of(row, owner));
    list_set(row, owner, NULL, 0);
}

void *arcp__config_list_add(const arcp__config_row *row, void *owner)
{
    const size_t count = arcp__config_list_count(row, owner);
    void *items = arcp__realloc_array(items_of(row, owner), count + 2, row->item->size);
    if (items == NULL) {
        return NULL;
    }
    list_set(row, owner, items, count + 1);
    void *item = arcp__config_list_item(row, owner, count);
    memset(item, 0, 2 * row->item->size);
    if (row->item->type->init != NULL) {
        row->item->type->init(row->item, item);
    }
    return item;
}

static arcp_status list_read(arcp__yaml_reader *r, const arcp__config_row *row, void *owner)
{
    if (arcp__yaml_is_null(r->node)) {
        return ARCP_OK;
    }
    if (r->node->type != YAML_SEQUENCE_NODE) {
        return arcp__yaml_refuse(r, "must be a list%s",
                                 row->item->type == &arcp__config_text ? " of strings" : "");
    }
    const yaml_node_t *list = r->node;
    arcp_status status = ARCP_OK;
    for (yaml_node_item_t *item = list->data.sequence.items.start;
         status == ARCP_OK && item < list->data.sequence.items.top; item++) {
        const arcp__yaml_place place =
            arcp__yaml_enter(r, arcp__yaml_node(r, *item), "[%zu]",
                             (size_t)(item - list->data.sequence.items.start));
        void *added = NULL;
        if (row->maximum != 0 && arcp__config_list_count(row, owner) == row->maximum) {
            status = arcp__yaml_refuse(r, "must have at most %u %s", (unsigned)row->maximum,
                                       row->item_name);
        } else {
            added = arcp__config_list_add(row, owner);
            status = added == NULL ? arcp__yaml_no_memory(r) : read_value(r, row->item, added);
        }
        arcp__yaml_leave(r, place);
    }
    return status;
}

static void list_print(const arcp__config_row *row, const void *owner, arcp_buf *out)
{
    const size_t count = arcp__config_list_count(row, owner);
    if (count == 0 && row->otherwise != NULL) {
        arcp_buf_append_cstr(out, row->otherwise);
        return;
    }
    arcp_buf_append_byte(out, '[');
    for (size_t i = 0; i < count; i++) {
        arcp_buf_append_cstr(out, i == 0 ? "" : ", ");
        row->item->type->print(row->item, arcp__config_list_item(row, owner, i), out);
    }
    arcp_buf_append_byte(out, ']');
}

const arcp__config_type arcp__config_list = {
    .fini = list_fini, .read = list_read, .print = list_print};
