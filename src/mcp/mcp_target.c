#include <stdlib.h>

#include "base/alloc.h"
#include "core/name_glob.h"
#include "mcp/mcp_rule.h"

/* A string that was asked, and what the server gets in its place. */
typedef struct answer {
    arcp_json_ref at;
    size_t offset, size; /* in `texts` */
} answer;

typedef struct asking {
    arcp__mcp_question *question;
    answer *answers;
    size_t count, capacity;
    arcp_buf texts; /* canonical forms */
    size_t written; /* answers, while the arguments are written */
    bool failed;    /* out of memory */
} asking;

/* ---- pointers ---- */

bool arcp__mcp_pointer_is_valid(arcp_span pointer)
{
    if (pointer.size != 0 && pointer.data[0] != '/') {
        return false;
    }
    for (size_t i = 0; i < pointer.size; i++) {
        if (pointer.data[i] == '~' &&
            (i + 1 == pointer.size || (pointer.data[i + 1] != '0' && pointer.data[i + 1] != '1'))) {
            return false;
        }
    }
    return true;
}

/* Takes the first segment of a pointer that is not empty, unescaped. */
static arcp_span take_segment(arcp_span *pointer, arcp_buf *room)
{
    size_t i = 1;
    arcp_buf_clear(room);
    for (; i < pointer->size && pointer->data[i] != '/'; i++) {
        const bool is_escape = pointer->data[i] == '~';
        i += is_escape;
        arcp_buf_append_byte(room, !is_escape                ? pointer->data[i]
                                   : pointer->data[i] == '0' ? '~'
                                                             : '/');
    }
    *pointer = arcp_span_from(*pointer, i);
    return arcp_buf_span(room);
}

/* The element of an array: a decimal number without leading zeros. */
static arcp_json_ref element_of(const arcp_json *json, arcp_json_ref array, arcp_span text)
{
    arcp_json_ref at = arcp_json_first(json, array);
    size_t index = 0;
    if (text.size == 0 || text.size > 6 || (text.size > 1 && text.data[0] == '0')) {
        return ARCP_JSON_ABSENT;
    }
    for (size_t i = 0; i < text.size; i++) {
        if (text.data[i] < '0' || text.data[i] > '9') {
            return ARCP_JSON_ABSENT;
        }
        index = index * 10 + (size_t)(text.data[i] - '0');
    }
    for (size_t i = 0; i < index && at != ARCP_JSON_ABSENT; i++) {
        at = arcp_json_next(json, array, at);
    }
    return at;
}

static arcp_json_ref resolve(asking *a, arcp_span pointer)
{
    const arcp_json *json = a->question->json;
    arcp_json_ref at = a->question->arguments;
    arcp_buf room = arcp_buf_init();
    while (pointer.size != 0 && at != ARCP_JSON_ABSENT) {
        const arcp_span segment = take_segment(&pointer, &room);
        at = arcp_json_is(json, at, ARCP_JSON_ARRAY) ? element_of(json, at, segment)
                                                     : arcp_json_member(json, at, segment);
    }
    a->failed = a->failed || room.failed;
    arcp_buf_fini(&room);
    return at;
}

/* ---- asking ---- */

static bool deny(asking *a, const arcp__mcp_target_rule *rule, const char *fault)
{
    a->question->is_allowed = false;
    a->question->fault = fault;
    a->question->capability = rule->capability;
    return false;
}

static arcp_span answer_text(const asking *a, const answer *found)
{
    return arcp_span_make(a->texts.data + found->offset, found->size);
}

static const answer *find_answer(const asking *a, arcp_json_ref at)
{
    for (size_t i = 0; i < a->count; i++) {
        if (a->answers[i].at == at) {
            return &a->answers[i];
        }
    }
    return NULL;
}

static void add_answer(asking *a, arcp_json_ref at, arcp_span canonical)
{
    answer *answers = arcp__make_room(a->answers, a->count, &a->capacity, sizeof *answers);
    if (answers == NULL) {
        a->failed = true;
        return;
    }
    a->answers = answers;
    a->answers[a->count++] = (answer){at, a->texts.size, canonical.size};
    arcp_buf_append(&a->texts, canonical);
    a->failed = a->failed || a->texts.failed;
}

/* One string. What several rules name must be the same for all of them. */
static bool ask_string(asking *a, const arcp__mcp_target_rule *rule, arcp_json_ref at)
{
    arcp__mcp_question *q = a->question;
    const answer *known = find_answer(a, at);
    if (known == NULL && a->count == ARCP__MCP_ASKED_MAX) {
        return deny(a, rule, "the arguments name more than 1024 targets");
    }
    arcp_buf_clear(&q->text);
    const arcp_span target = arcp_json_string(q->json, at, &q->text);
    if (q->text.failed) {
        a->failed = true;
        return deny(a, rule, NULL);
    }
    if (!arcp_authorize(q->authority, q->now, rule->capability, target, &q->scratch,
                        &q->decision)) {
        return deny(a, rule, NULL);
    }
    if (known == NULL) {
        add_answer(a, at, q->decision.canonical);
    } else if (!arcp_span_equal(answer_text(a, known), q->decision.canonical)) {
        return deny(a, rule, "two rules read an argument in different ways");
    }
    return !a->failed;
}

static bool ask_value(asking *a, const arcp__mcp_target_rule *rule)
{
    const arcp_json *json = a->question->json;
    const arcp_json_ref value = resolve(a, rule->pointer);
    if (arcp_json_is(json, value, ARCP_JSON_STRING)) {
        return ask_string(a, rule, value);
    }
    if (!arcp_json_is(json, value, ARCP_JSON_ARRAY)) {
        return deny(a, rule, "the arguments have no text where the target is");
    }
    for (arcp_json_ref at = arcp_json_first(json, value); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, value, at)) {
        if (!arcp_json_is(json, at, ARCP_JSON_STRING)) {
            return deny(a, rule, "the list of targets has something else than texts");
        }
        if (!ask_string(a, rule, at)) {
            return false;
        }
    }
    return true;
}

/* ---- writing ---- */

static int compare_answers(const void *first, const void *second)
{
    const answer *a = first;
    const answer *b = second;
    return (a->at > b->at) - (a->at < b->at);
}

/* A value with the answers, which are sorted, in place of the strings that were asked. References
 * grow in the order of the text. Messages nest 128 levels at most. */
static void append_value(asking *a, arcp_json_ref value, arcp_buf *out)
{
    const arcp_json *json = a->question->json;
    const bool is_object = arcp_json_is(json, value, ARCP_JSON_OBJECT);
    bool has_items = false;
    if (!is_object && !arcp_json_is(json, value, ARCP_JSON_ARRAY)) {
        if (a->written < a->count && a->answers[a->written].at == value) {
            arcp_json_quote(answer_text(a, &a->answers[a->written++]), out);
        } else {
            arcp_json_compact(json, value, out);
        }
        return;
    }
    arcp_buf_append_byte(out, is_object ? '{' : '[');
    for (arcp_json_ref at = arcp_json_first(json, value); at != ARCP_JSON_ABSENT;
         at = arcp_json_next(json, value, at)) {
        if (has_items) {
            arcp_buf_append_byte(out, ',');
        }
        has_items = true;
        if (is_object) {
            arcp_json_compact(json, at, out);
            arcp_buf_append_byte(out, ':');
        }
        append_value(a, is_object ? at + 1 : at, out);
    }
    arcp_buf_append_byte(out, is_object ? '}' : ']');
}

arcp_status arcp__mcp_question_ask(arcp__mcp_question *question, arcp_buf *out)
{
    asking a = {.question = question};
    question->is_allowed = true;
    question->fault = NULL;
    for (size_t i = 0; i < question->rule_count; i++) {
        const arcp__mcp_target_rule *rule = &question->rules[i];
        if (arcp__name_glob_matches(rule->tools, question->tool) && !ask_value(&a, rule)) {
            break;
        }
    }
    if (question->is_allowed && !a.failed && a.count != 0) {
        qsort(a.answers, a.count, sizeof *a.answers, compare_answers);
        append_value(&a, question->arguments, out);
    } else if (question->is_allowed && !a.failed) {
        arcp_json_compact(question->json, question->arguments, out);
    }
    question->is_allowed = question->is_allowed && !a.failed && !out->failed;
    arcp__free(a.answers);
    arcp_buf_fini(&a.texts);
    return a.failed || out->failed ? ARCP_E_NO_MEMORY : ARCP_OK;
}

void arcp__mcp_question_fini(arcp__mcp_question *question)
{
    arcp_buf_fini(&question->text);
}
