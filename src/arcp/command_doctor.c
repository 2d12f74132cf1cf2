/* `arcp doctor`: what this host can do for sandboxes, what is lost without the rest, and what to do
 * about it. */
#include <string.h>

#include "arcp/command.h"
#include "arcp/run.h"
#include "json/json_put.h"

typedef enum ability_kind { YES_NO, NUMBER } ability_kind;

static const struct {
    const char *name;
    ability_kind kind;
    const char *lost, *remedy;
} rows[ARCP__SANDBOX_ABILITY_COUNT] = {
#define ARCP_SANDBOX_ABILITY(id, name, kind, lost, remedy) {name, kind, lost, remedy},
#include "sandbox/sandbox_ability.def"
#undef ARCP_SANDBOX_ABILITY
};

static const char *const meanings[ARCP__SANDBOX_LEVEL_COUNT] = {
    [ARCP__SANDBOX_LEVEL_NONE] = "nothing can be started confined",
    [ARCP__SANDBOX_LEVEL_LANDLOCK] =
        "files are confined; names and sizes of other files can be seen",
    [ARCP__SANDBOX_LEVEL_FULL] = "a view of files and a network of its own for each command",
};

static void append_table(const arcp__sandbox_abilities *abilities, arcp__sandbox_level level,
                         arcp_buf *out)
{
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        const uint32_t value = abilities->values[i];
        char number[16];
        (void)snprintf(number, sizeof number, "%u", value);
        arcp_buf_append_format(out, "%-12s %s", rows[i].name,
                               rows[i].kind == NUMBER ? number
                               : value != 0           ? "yes"
                                                      : "no");
        if (value == 0) {
            arcp_buf_append_format(out, "%s  %s\n%-17sneeds: %s", rows[i].kind == NUMBER ? " " : "",
                                   rows[i].lost, "", rows[i].remedy);
        }
        arcp_buf_append_byte(out, '\n');
    }
    arcp_buf_append_format(out, "level %s: %s\n", arcp__sandbox_level_name(level), meanings[level]);
}

static void append_json(const arcp__sandbox_abilities *abilities, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__sandbox_abilities_explain(abilities, &writer);
    arcp_json_end_object(&writer);
    arcp_buf_append_byte(out, '\n');
}

int arcp__command_doctor(arcp__program *program)
{
    static const int exits[ARCP__SANDBOX_LEVEL_COUNT] = {
        [ARCP__SANDBOX_LEVEL_NONE] = ARCP__EXIT_DENIED,
        [ARCP__SANDBOX_LEVEL_LANDLOCK] = ARCP__EXIT_ERROR,
        [ARCP__SANDBOX_LEVEL_FULL] = ARCP__EXIT_SUCCESS,
    };
    arcp__sandbox_abilities abilities = {{0}};
    arcp_buf text = arcp_buf_init();
    arcp_error err = {0};
    if (arcp__abilities_find(&abilities, &err) != ARCP_OK) { /* then all of them are missing */
        (void)arcp__program_fail(program, &err);
        return ARCP__EXIT_DENIED;
    }
    const arcp__sandbox_level level = arcp__sandbox_level_of(&abilities);
    if (program->is_json) {
        append_json(&abilities, &text);
    } else {
        append_table(&abilities, level, &text);
    }
    /* Before the command it is the option of every command. */
    const char *early = arcp__value(&program->arguments, ARCP__OPTION_CONFIG);
    const char *config = arcp__value(&program->arguments, ARCP__OPTION_DOCTOR_CONFIG);
    const arcp__agents_query query = {
        .path = config != NULL ? config : early,
        .abilities = abilities,
        .is_json = program->is_json,
    };
    if (query.path != NULL && arcp__doctor_agents(&query, &text, &err) != ARCP_OK) {
        arcp_buf_fini(&text);
        return arcp__program_usage(program, &err);
    }
    return arcp__program_print_buf(program, &text) ? exits[level] : ARCP__EXIT_ERROR;
}
