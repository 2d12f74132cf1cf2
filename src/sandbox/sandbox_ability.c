/* What a host can do, as text, and the level that follows from it. */
#include "sandbox/sandbox_parts.h"
#include "json/json_put.h"

typedef enum ability_kind { YES_NO, NUMBER } ability_kind;

static const struct {
    const char *name;
    ability_kind kind;
    const char *lost, *remedy;
} abilities_table[ARCP__SANDBOX_ABILITY_COUNT] = {
#define ARCP_SANDBOX_ABILITY(id, name, kind, lost, remedy) {name, kind, lost, remedy},
#include "sandbox/sandbox_ability.def"
#undef ARCP_SANDBOX_ABILITY
};

const char *arcp__sandbox_ability_name(arcp__sandbox_ability ability)
{
    return abilities_table[ability].name;
}

void arcp__sandbox_abilities_write(const arcp__sandbox_abilities *abilities,
                                   arcp_json_writer *writer)
{
    arcp_json_begin_object(writer);
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        arcp__put_u64(writer, abilities_table[i].name, abilities->values[i]);
    }
    arcp_json_end_object(writer);
}

void arcp__sandbox_abilities_explain(const arcp__sandbox_abilities *abilities,
                                     arcp_json_writer *writer)
{
    arcp__put_cstr(writer, "level", arcp__sandbox_level_name(arcp__sandbox_level_of(abilities)));
    arcp__put_array(writer, "abilities");
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "name", abilities_table[i].name);
        if (abilities_table[i].kind == NUMBER) {
            arcp__put_u64(writer, "value", abilities->values[i]);
        } else {
            arcp__put_bool(writer, "value", abilities->values[i] != 0);
        }
        if (abilities->values[i] == 0) {
            arcp__put_cstr(writer, "lost", abilities_table[i].lost);
            arcp__put_cstr(writer, "needs", abilities_table[i].remedy);
        }
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
}

void arcp__sandbox_abilities_encode(const arcp__sandbox_abilities *abilities, arcp_buf *out)
{
    arcp_json_writer writer;
    arcp_json_writer_init(&writer, out);
    arcp__sandbox_abilities_write(abilities, &writer);
}

arcp_status arcp__sandbox_abilities_read(const arcp_json *json, arcp_json_ref object,
                                         arcp__sandbox_abilities *out, arcp_error *err)
{
    if (!arcp_json_is(json, object, ARCP_JSON_OBJECT)) {
        return arcp_error_set(err, ARCP_E_INVALID_REQUEST, "abilities must be an object");
    }
    arcp__sandbox_abilities read = {{0}};
    for (size_t i = 0; i < ARCP__SANDBOX_ABILITY_COUNT; i++) {
        const char *name = abilities_table[i].name;
        const arcp_json_ref value = arcp_json_member(json, object, arcp_span_cstr(name));
        const uint64_t most = abilities_table[i].kind == YES_NO ? 1 : UINT32_MAX;
        uint64_t number = 0;
        if (value != ARCP_JSON_ABSENT && (!arcp_json_u64(json, value, &number) || number > most)) {
            return arcp_error_set(err, ARCP_E_INVALID_REQUEST,
                                  "abilities: %s must be a number of at most %llu", name,
                                  (unsigned long long)most);
        }
        read.values[i] = (uint32_t)number;
    }
    *out = read;
    return ARCP_OK;
}

arcp_status arcp__sandbox_abilities_decode(arcp_span text, arcp__sandbox_abilities *out,
                                           arcp_error *err)
{
    arcp_json json = ARCP__JSON_INIT;
    arcp_status status = arcp_json_scan(&json, text, NULL, err);
    if (status == ARCP_OK) {
        status = arcp__sandbox_abilities_read(&json, ARCP_JSON_ROOT, out, err);
    }
    arcp__json_fini(&json);
    return status;
}

/* The index of an ability, or ARCP__SANDBOX_ABILITY_COUNT. */
static size_t find_ability(arcp_span name)
{
    size_t i = 0;
    while (i < ARCP__SANDBOX_ABILITY_COUNT &&
           !arcp_span_equal_cstr(name, abilities_table[i].name)) {
        i++;
    }
    return i;
}

bool arcp__sandbox_abilities_remove(arcp__sandbox_abilities *abilities, const char *names)
{
    arcp__sandbox_abilities narrowed = *abilities;
    const char *at = names == NULL || *names == '\0' ? NULL : names;
    while (at != NULL) {
        const size_t size = strcspn(at, ",");
        const size_t found = find_ability(arcp_span_make(at, size));
        if (found == ARCP__SANDBOX_ABILITY_COUNT) {
            return false;
        }
        narrowed.values[found] = 0;
        at = at[size] == ',' ? at + size + 1 : NULL;
    }
    *abilities = narrowed;
    return true;
}

arcp__sandbox_level arcp__sandbox_level_of(const arcp__sandbox_abilities *abilities)
{
    const uint32_t *has = abilities->values;
    if (has[ARCP__SANDBOX_ABILITY_SECCOMP] == 0 || has[ARCP__SANDBOX_ABILITY_LANDLOCK] == 0) {
        return ARCP__SANDBOX_LEVEL_NONE;
    }
    if (has[ARCP__SANDBOX_ABILITY_USERNS] != 0 && has[ARCP__SANDBOX_ABILITY_MOUNT] != 0 &&
        has[ARCP__SANDBOX_ABILITY_NETNS] != 0) {
        return ARCP__SANDBOX_LEVEL_FULL;
    }
    /* Before version 3 Landlock does not know truncation, and no mount is there to refuse it. */
    return has[ARCP__SANDBOX_ABILITY_LANDLOCK] >= 3 ? ARCP__SANDBOX_LEVEL_LANDLOCK
                                                    : ARCP__SANDBOX_LEVEL_NONE;
}

bool arcp__sandbox_has_broker(const arcp__sandbox_abilities *abilities)
{
    const uint32_t *has = abilities->values;
    return has[ARCP__SANDBOX_ABILITY_BROKER] != 0 && has[ARCP__SANDBOX_ABILITY_NOTIFY] != 0 &&
           has[ARCP__SANDBOX_ABILITY_VM_READ] != 0;
}

bool arcp__sandbox_has_proxy(const arcp__sandbox_abilities *abilities)
{
    const uint32_t *has = abilities->values;
    return has[ARCP__SANDBOX_ABILITY_PROXY] != 0 && has[ARCP__SANDBOX_ABILITY_LANDLOCK] >= 4 &&
           has[ARCP__SANDBOX_ABILITY_PIDFD_GETFD] != 0 && arcp__sandbox_has_broker(abilities);
}

unsigned arcp__sandbox_cgroup_limits(const arcp__sandbox_limits *limits,
                                     const arcp__sandbox_abilities *abilities)
{
    const bool has_pids = arcp__sandbox_level_of(abilities) == ARCP__SANDBOX_LEVEL_FULL &&
                          abilities->values[ARCP__SANDBOX_ABILITY_PID_MAX] != 0;
    return (limits->memory_bytes != 0 ? ARCP__SANDBOX_LIMIT_MEMORY : 0U) |
           (limits->cpu_percent != 0 ? ARCP__SANDBOX_LIMIT_CPU : 0U) |
           (limits->pids != 0 && !has_pids ? ARCP__SANDBOX_LIMIT_PIDS : 0U);
}

const char *arcp__sandbox_level_name(arcp__sandbox_level level)
{
    static const char *const names[ARCP__SANDBOX_LEVEL_COUNT] = {"none", "landlock", "full"};
    return (unsigned)level < ARCP__SANDBOX_LEVEL_COUNT ? names[level] : "";
}
