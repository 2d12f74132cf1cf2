#include "hosting/agent_row.h"

/* Of a row, what a job adds to the variables of its agent: a directory, an endpoint, a few
 * variables. */
#define JOB_MAX 8192u

/* What the reader refuses is refused by the writer's check, too. */
static arcp_status read_back(arcp_span text, arcp_error *err)
{
    arcp__arena arena = {0};
    arcp__agent_row agent = {.name = NULL};
    arcp__start_row row;
    arcp_status status = arcp__start_row_read(text, &arena, &row, err);
    if (status == ARCP_OK) {
        status = arcp__agent_row_read(row.agent, &arena, &agent, err);
    }
    arcp_lease_unref(agent.lease);
    arcp__arena_fini(&arena);
    return status;
}

arcp_status arcp__start_row_check(arcp_span agent, arcp_span host,
                                  const arcp__environment *environment, arcp_error *err)
{
    const arcp__start_row row = {
        .agent = agent, .host = host, .env = (const char *const *)environment->pairs};
    arcp_buf text = arcp_buf_secret_init();
    arcp_status status = environment->failed
                             ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                             : arcp__start_row_write(&row, &text, err);
    if (status == ARCP_OK && text.size > ARCP__ROW_BYTES_MAX - JOB_MAX) {
        status = arcp_error_set(err, ARCP_E_LIMIT,
                                "the program's command and sandbox, and twice its environment, "
                                "have %zu bytes, more than %u",
                                text.size, ARCP__ROW_BYTES_MAX - JOB_MAX);
    }
    if (status == ARCP_OK) {
        status = read_back(arcp_buf_span(&text), err);
    }
    arcp_buf_fini(&text);
    return status;
}
