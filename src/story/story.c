/* Parses stories: lines, words, macros and variables. */
#include "story/story.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "base/timestamp.h"
#include "cli/cli.h"

static void fill_random(void *user, void *out, size_t size)
{
    (void)user;
    arcp__random(out, size);
}

void arcp__story_init(arcp__story *story, const arcp__story_stage *stage)
{
    *story = (arcp__story){.stage = stage,
                           .frame = arcp_buf_secret_init(),
                           .json = ARCP__JSON_INIT,
                           .ids = {.random = fill_random}};
}

void arcp__story_fini(arcp__story *story)
{
    arcp__variables_fini(&story->variables);
    arcp__json_fini(&story->json);
    arcp_buf_fini(&story->frame);
    arcp_buf_fini(&story->why);
}

bool arcp__story_fail(arcp__story *story, const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    arcp_buf_append_cstr(&story->why, text);
    return false;
}

/* ---- words and variables ---- */

const char *arcp__story_word(char **rest)
{
    char *word = strsep(rest, " ");
    if (*rest == NULL) {
        *rest = word + strlen(word);
    }
    return word;
}

const arcp_buf *arcp__story_value(arcp__story *story, const char *word)
{
    const arcp_buf *value =
        word[0] == '$' ? arcp__variable_get(&story->variables, arcp_span_cstr(word + 1)) : NULL;
    if (value == NULL) {
        (void)arcp__story_fail(story, "%s has no value", word);
    }
    return value;
}

/* Sets $now, $in_2s, $ago_1h and the like when they are used for the first time. */
static bool bind_instants(arcp__story *story, const char *text)
{
    for (const char *found = strchr(text, '$'); found != NULL; found = strchr(found + 1, '$')) {
        char name[ARCP__VARIABLE_NAME_MAX] = {0};
        char instant[ARCP__TIMESTAMP_SIZE];
        arcp_error err = {0};
        int64_t ns = 0;
        (void)sscanf(found, "$%23[a-z0-9_]", name);
        const bool is_ahead = strncmp(name, "in_", 3) == 0;
        const bool is_past = strncmp(name, "ago_", 4) == 0;
        if ((!is_ahead && !is_past && strcmp(name, "now") != 0) ||
            arcp__variable_get(&story->variables, arcp_span_cstr(name)) != NULL) {
            continue;
        }
        if ((is_ahead || is_past) &&
            arcp__duration_parse(strchr(name, '_') + 1, &ns, &err) != ARCP_OK) {
            return arcp__story_fail(story, "$%s: %s", name, err.message);
        }
        arcp__timestamp_format(story->stage->now(story->stage->user) + (is_past ? -ns : ns),
                               instant);
        arcp__variable_set_text(&story->variables, name, arcp_span_make(instant, sizeof instant));
    }
    return true;
}

bool arcp__story_expand(arcp__story *story, const char *text, arcp_buf *out)
{
    if (!bind_instants(story, text)) {
        return false;
    }
    if (!arcp__variables_replace(&story->variables, arcp_span_cstr(text), out)) {
        return arcp__story_fail(story, "a variable has no value: %s", text);
    }
    arcp_buf_append_byte(out, '\0');
    return !out->failed || arcp__story_fail(story, "out of memory");
}

/* ---- other lines ---- */

static bool check_client(arcp__story *story, const char *name)
{
    return (name[0] >= 'a' && name[0] <= 'z' && name[1] == '\0') ||
           arcp__story_fail(story, "\"%s\" is not a client (one letter, a to z)", name);
}

static bool play_connect(arcp__story *story, char *rest)
{
    return check_client(story, rest) && story->stage->connect(story->stage->user, rest);
}

static bool play_drop(arcp__story *story, char *rest)
{
    if (!check_client(story, rest)) {
        return false;
    }
    story->stage->drop(story->stage->user, rest);
    return true;
}

static bool play_differ(arcp__story *story, char *rest)
{
    const arcp_buf *left = arcp__story_value(story, arcp__story_word(&rest));
    const arcp_buf *right = left == NULL ? NULL : arcp__story_value(story, rest);
    if (right == NULL || !arcp_span_equal(arcp_buf_span(left), arcp_buf_span(right))) {
        return right != NULL;
    }
    return arcp__story_fail(story, "the two variables have the same value");
}

static bool play_forget(arcp__story *story, char *rest)
{
    while (rest[0] != '\0') {
        arcp__variable_forget(&story->variables, arcp__story_word(&rest));
    }
    return true;
}

static const arcp__story_verb verbs[] = {{"connect", play_connect},
                                         {"drop", play_drop},
                                         {"differ", play_differ},
                                         {"forget", play_forget},
                                         {NULL, NULL}};

static const arcp__story_verb *find_verb(const arcp__story_verb *verb, arcp_span word)
{
    while (verb->name != NULL && !arcp_span_equal_cstr(word, verb->name)) {
        verb++;
    }
    return verb->name == NULL ? NULL : verb;
}

/* a, a> or a< */
static bool is_client(arcp_span word)
{
    return word.size != 0 && word.size <= 2 && word.data[0] >= 'a' && word.data[0] <= 'z' &&
           (word.size == 1 || word.data[1] == '>' || word.data[1] == '<');
}

static arcp_span text_before(arcp_span text, char end)
{
    const char *found = text.size == 0 ? NULL : memchr(text.data, end, text.size);
    return found == NULL ? text : arcp_span_first(text, (size_t)(found - text.data));
}

static arcp_span first_line(arcp_span text)
{
    return text_before(text, '\n');
}

static arcp_span first_word(arcp_span text)
{
    return text_before(text, ' ');
}

/* ---- macros ---- */

#define PARAMETERS_MAX 4

/* Returns the definition of a macro, starting with its parameters; empty when there is none. */
static arcp_span find_macro(const arcp__story *story, arcp_span name)
{
    arcp_span text = arcp_span_cstr(story->stage->macros);
    while (text.size != 0) {
        const arcp_span line = first_line(text);
        if (arcp_span_equal_cstr(first_word(line), "define") &&
            arcp_span_equal(first_word(arcp_span_from(line, 7)), name)) {
            return arcp_span_from(text, 7 + name.size + 1);
        }
        text = arcp_span_from(text, line.size + 1);
    }
    return text;
}

/* Plays the lines up to `end`, with the parameters replaced by the words of `rest`. */
static bool play_macro(arcp__story *story, arcp_span definition, char *rest)
{
    arcp_span names = first_line(definition);
    arcp_span body = arcp_span_from(definition, names.size + 1);
    arcp_span parameters[PARAMETERS_MAX];
    const char *values[PARAMETERS_MAX];
    arcp_buf text = arcp_buf_init();
    size_t count = 0;
    for (; names.size != 0 && count < PARAMETERS_MAX; count++) {
        parameters[count] = first_word(names);
        names = arcp_span_from(names, parameters[count].size + 1);
        values[count] = names.size == 0 ? rest : arcp__story_word(&rest);
    }
    size_t whole = 0;
    while (whole < body.size &&
           !arcp_span_equal_cstr(first_line(arcp_span_from(body, whole)), "end")) {
        whole += first_line(arcp_span_from(body, whole)).size + 1;
    }
    body = arcp_span_first(body, whole);
    while (body.size != 0) {
        size_t size = 0;
        while (size < body.size && body.data[size] >= 'A' && body.data[size] <= 'Z') {
            size++;
        }
        arcp_span piece = arcp_span_first(body, size == 0 ? 1 : size);
        body = arcp_span_from(body, piece.size);
        for (size_t i = 0; i < count; i++) {
            if (arcp_span_equal(piece, parameters[i])) {
                piece = arcp_span_cstr(values[i]);
                break;
            }
        }
        arcp_buf_append(&text, piece);
    }
    const unsigned line = story->line;
    const bool passed = text.failed ? arcp__story_fail(story, "out of memory")
                                    : arcp__story_play(story, arcp_buf_span(&text));
    story->line = line;
    arcp_buf_fini(&text);
    return passed;
}

/* ---- lines ---- */

static bool play_line(arcp__story *story, char *line)
{
    char *rest = line;
    const char *word = arcp__story_word(&rest);
    const arcp_span span = arcp_span_cstr(word);
    const arcp__story_verb *verb = find_verb(story->stage->verbs, span);
    verb = verb == NULL ? find_verb(verbs, span) : verb;
    if (verb != NULL) {
        return verb->play(story, rest);
    }
    if (is_client(span)) {
        return arcp__story_play_client(story, word, rest);
    }
    const arcp_span macro = find_macro(story, span);
    return macro.size != 0 ? play_macro(story, macro, rest)
                           : arcp__story_fail(story, "a line cannot begin with %s", word);
}

static bool is_blank(char byte)
{
    return byte == ' ' || byte == '\t';
}

bool arcp__story_play(arcp__story *story, arcp_span left)
{
    arcp_buf line = arcp_buf_secret_init();
    bool passed = true;
    unsigned number = 0;
    while (passed && left.size != 0) {
        arcp_buf_clear(&line);
        story->line = number + 1;
        do {
            arcp_span part = first_line(left);
            left = arcp_span_from(left, part.size + 1);
            while (part.size != 0 && is_blank(part.data[0])) {
                part = arcp_span_from(part, 1);
            }
            arcp_buf_append(&line, part);
            number++;
        } while (left.size != 0 && is_blank(left.data[0]));
        arcp_buf_append_byte(&line, '\0');
        if (line.failed) {
            passed = arcp__story_fail(story, "out of memory");
        } else if (line.data[0] != '\0' && line.data[0] != '#') {
            if (story->stage->step != NULL) {
                story->stage->step(story->stage->user);
            }
            passed = play_line(story, line.data);
        }
    }
    arcp_buf_fini(&line);
    return passed && (!story->variables.failed || arcp__story_fail(story, "too many variables"));
}
