/* `arcp models` without --prices: the models of the configuration file, as `arcp run --model` has
 * them. */
#include "arcp/command.h"
#include "arcp/models.h"
#include "arcp/setup_file.h"
#include "core/id_set.h"

typedef struct lister {
    arcp__models *models;
    arcp__id_set names; /* that were listed: the configuration may name one several times */
    size_t printed;
    arcp_buf out;
    bool failed;
} lister;

/* False for a name that was listed before. */
static bool is_new(lister *l, arcp_span name)
{
    if (arcp__id_set_has(&l->names, name)) {
        return false;
    }
    const bool is_added = arcp__id_set_add(&l->names, name);
    l->failed = l->failed || !is_added;
    return is_added;
}

/* Why the model has no price; NULL: it has one, or a reason why it cannot be bounded. */
static const char *note_of(const lister *l, const arcp__model_found *found)
{
    if (found->provider->is_free) {
        return "free";
    }
    if (found->row != NULL) {
        return NULL;
    }
    return arcp__model_unknown_is_free(l->models->config) ? "no price: free" : "no price: refused";
}

/* Whether a budget of the lease pays in what the prices are in. Without a budget nothing is held.
 */
static bool pays(const lister *l)
{
    const arcp__model_exchange *exchanges = NULL;
    const arcp__model_config *config = l->models->config;
    arcp_budget *budget = arcp_authority_budget(l->models->authority);
    const size_t count = arcp__model_exchanges(config, &exchanges);
    if (budget == NULL || arcp_budget_count(budget) == 0) {
        return true;
    }
    bool is_paid = arcp_budget_counts(budget, arcp__model_currency(config)) ||
                   arcp_budget_counts(budget, ARCP_SPAN_LITERAL("tokens"));
    for (size_t i = 0; i < count; i++) {
        is_paid = is_paid || arcp_budget_counts(budget, exchanges[i].currency);
    }
    return is_paid;
}

static void append_found(lister *l, arcp_span name, const arcp__model_found *found, bool is_alias)
{
    const arcp__models *models = l->models;
    arcp__models_row shown = {.name = name,
                              .stands_for = is_alias ? found->model : ARCP_SPAN_LITERAL(""),
                              .provider = found->provider->name,
                              .row = found->row,
                              .terms = found->provider->terms,
                              .note = note_of(l, found)};
    if (models->has_max) {
        shown.terms.max_output_tokens = models->terms.max_output_tokens;
    }
    shown.is_allowed = models->authority != NULL &&
                       (arcp__models_allows(models, name) ||
                        (is_alias && arcp__models_allows(models, found->model))) &&
                       (shown.note != NULL || pays(l));
    if (l->printed++ == 0 && !models->program->is_json) {
        arcp__models_append_header(models, &l->out);
    }
    arcp__models_append(models, &shown, &l->out);
}

static void on_name(void *user, arcp_span name, arcp_span provider)
{
    lister *l = user;
    const arcp__model_config *config = l->models->config;
    const bool is_alias = arcp__model_is_alias(config, name);
    (void)provider;
    if (!arcp__models_is_wanted(l->models, name) || !is_new(l, name)) {
        return;
    }
    for (unsigned dialect = 0; dialect < 2; dialect++) {
        arcp__model_found found[ARCP__MODEL_LIST_MAX];
        const size_t count = arcp__model_find(config, (arcp__llm_dialect)dialect, name, found);
        for (size_t i = 0; i < count; i++) {
            append_found(l, name, &found[i], is_alias);
        }
    }
}

static arcp_status has_providers(const arcp__setup_file *file, arcp_error *err)
{
    return file->setup.models.provider_count != 0
               ? ARCP_OK
               : arcp_error_set(err, ARCP_E_NOT_FOUND,
                                "%s has no models.providers (see arcp(1), FILES); --prices FILE "
                                "names a price file",
                                file->path.data);
}

static arcp_status list(lister *l, const arcp__setup_file *file, arcp_error *err)
{
    const arcp__arguments *arguments = &l->models->program->arguments;
    arcp__model_each(l->models->config, on_name, l);
    if (l->failed) {
        return arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
    }
    if (l->printed == 0) {
        return arcp_error_set(
            err, ARCP_E_NOT_FOUND, "no provider of %s serves %s%.80s", file->path.data,
            arguments->word_count == 0 ? "a model that has a name" : "a model named ",
            arguments->word_count == 0 ? "" : arguments->words[0]);
    }
    return ARCP_OK;
}

int arcp__models_of_setup(arcp__models *models)
{
    lister l = {.models = models, .out = arcp_buf_init()};
    arcp__setup_file file;
    arcp__model_config *config = NULL;
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    const bool has_request = arcp__has(&models->program->arguments, ARCP__OPTION_MODELS_REQUEST);
    arcp_status status = arcp__setup_file_read(&models->program->arguments, &file, &err);
    if (status == ARCP_OK) {
        status = arcp__setup_list_models(&file.setup, &config, &err);
    }
    models->config = config;
    if (status == ARCP_OK) {
        status = has_providers(&file, &err);
    }
    if (status == ARCP_OK && !has_request) {
        status = list(&l, &file, &err);
    }
    if (status == ARCP_OK && has_request) {
        exit_status = arcp__models_request(models);
    } else if (status != ARCP_OK) {
        arcp_buf_fini(&l.out);
        exit_status = status == ARCP_E_USAGE ? arcp__program_usage(models->program, &err)
                                             : arcp__program_fail_file(models->program, &err);
    } else if (arcp__program_print_buf(models->program, &l.out)) {
        exit_status = ARCP__EXIT_SUCCESS;
    }
    arcp__id_set_fini(&l.names);
    models->config = NULL;
    arcp__model_config_unref(config);
    arcp__setup_file_fini(&file);
    return exit_status;
}
