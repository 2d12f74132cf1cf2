/* `arcp models`: the models of the providers of the configuration file, or with --prices FILE what
 * became of each row of a price file; which of them a lease allows, and what a call can cost at
 * most. Needs no runtime. */
#include <inttypes.h>
#include <string.h>

#include "arcp/command.h"
#include "arcp/models.h"
#include "base/alloc.h"
#include "core/name_glob.h"
#include "json/json_put.h"

#define NAME_COLUMNS   40
#define MODE_COLUMNS   9
#define PRICE_COLUMNS  10
#define TOKENS_COLUMNS 9
#define LEASE_COLUMNS  7
#define MILLION        1000000

typedef struct listing {
    arcp__models *models;
    size_t priced, bounded, printed; /* rows of the modes that have prices; of these; all */
} listing;

bool arcp__models_is_wanted(const arcp__models *models, arcp_span name)
{
    const arcp__arguments *arguments = &models->program->arguments;
    bool fits = arguments->word_count == 0;
    for (size_t i = 0; i < arguments->word_count && !fits; i++) {
        fits = arcp__name_glob_matches(arguments->words[i], name);
    }
    return fits;
}

/* What a call of the size in question can cost. */
static arcp_status bound(const arcp__models *models, const arcp__models_row *shown,
                         arcp__llm_bound *out, arcp_error *err)
{
    arcp__llm_size size = models->size;
    size.is_embedding = shown->row->mode == ARCP__LLM_MODE_EMBEDDING;
    return arcp__llm_bound_find(shown->row, &size, &shown->terms, out, err);
}

/* ---- as JSON ---- */

void arcp__models_put_amount(arcp_json_writer *writer, const char *name, arcp_decimal amount)
{
    char text[ARCP_DECIMAL_TEXT_MAX];
    (void)arcp_decimal_format(amount, text);
    arcp__put_cstr(writer, name, text);
}

static void put_rates(arcp_json_writer *writer, const arcp__llm_row *row)
{
    arcp__put_array(writer, "prices");
    for (size_t i = 0; i < row->rate_count; i++) {
        const arcp__llm_rate *rate = &row->rates[i];
        arcp_json_begin_object(writer);
        arcp__put_cstr(writer, "for", arcp__llm_use_name(rate->use));
        if (rate->tier != ARCP__LLM_TIER_DEFAULT) {
            arcp__put_cstr(writer, "service_tier", arcp__llm_tier_name(rate->tier));
        }
        if (rate->above != 0) {
            arcp__put_u64(writer, "above_tokens", rate->above);
        }
        arcp__models_put_amount(writer, "price", rate->price);
        arcp_json_end_object(writer);
    }
    arcp_json_end_array(writer);
    if (row->factor_count != 0) {
        arcp__put_object(writer, "factors");
        for (size_t i = 0; i < row->factor_count; i++) {
            char text[ARCP_DECIMAL_TEXT_MAX];
            (void)arcp_decimal_format(row->factors[i].factor, text);
            arcp_json_name_span(writer, row->factors[i].name);
            arcp_json_write_cstr(writer, text);
        }
        arcp_json_end_object(writer);
    }
}

static void put_bound(const arcp__models *models, const arcp__models_row *shown,
                      arcp_json_writer *writer)
{
    arcp__llm_bound found;
    arcp_error err = {0};
    if (bound(models, shown, &found, &err) != ARCP_OK) {
        arcp__put_cstr(writer, "unbounded", err.message);
        return;
    }
    arcp__put_object(writer, "bound");
    arcp__put_u64(writer, "input_tokens", found.input_tokens);
    arcp__put_u64(writer, "output_tokens", found.output_tokens);
    arcp__models_put_amount(writer, "input", found.input);
    arcp__models_put_amount(writer, "output", found.output);
    arcp__models_put_amount(writer, "total", found.total);
    arcp_json_end_object(writer);
}

/* What the price file says of the model, and what a call can cost. */
static void put_row(const arcp__models_row *shown, arcp_json_writer *writer)
{
    const arcp_decimal one = {1000000000000000000, 0};
    const arcp__llm_row *row = shown->row;
    arcp__put_text(writer, "mode", row->mode_name);
    arcp__put_bool(writer, "bounded", row->problem == ARCP__LLM_PROBLEM_NONE);
    if (row->problem != ARCP__LLM_PROBLEM_NONE) {
        arcp__put_cstr(writer, "problem", arcp__llm_problem_name(row->problem));
        arcp__put_text(writer, "key", row->key);
    }
    if (row->context != 0) {
        arcp__put_u64(writer, "context", row->context);
    }
    if (row->output_max != 0) {
        arcp__put_u64(writer, "output_max", row->output_max);
    }
    if (row->mode != ARCP__LLM_MODE_OTHER) {
        put_rates(writer, row);
    }
    if (arcp_decimal_compare(row->regional, one) != 0) {
        arcp__models_put_amount(writer, "regional_factor", row->regional);
    }
    if (arcp_decimal_compare(shown->terms.multiplier, one) != 0) {
        arcp__models_put_amount(writer, "multiplier", shown->terms.multiplier);
    }
}

static void append_json(const arcp__models *models, const arcp__models_row *shown, arcp_buf *out)
{
    arcp_json_writer writer = arcp__put_begin(out);
    arcp__put_string(&writer, "model", shown->name);
    arcp__put_text(&writer, "stands_for", shown->stands_for);
    arcp__put_text(&writer, "provider", shown->provider);
    arcp__put_word(&writer, "unpriced", shown->note);
    if (shown->row != NULL) {
        put_row(shown, &writer);
    }
    if (models->authority != NULL) {
        arcp__put_bool(&writer, "allowed", shown->is_allowed);
    }
    if (models->has_size && shown->note == NULL && shown->row->problem == ARCP__LLM_PROBLEM_NONE) {
        put_bound(models, shown, &writer);
    }
    arcp_json_end_object(&writer);
}

/* ---- as text ---- */

static void append_cell(arcp_buf *out, const char *text, size_t columns)
{
    arcp_buf_append_format(out, "%*s ", (int)columns, text);
}

/* The price of a million tokens in small calls. */
static void append_price(const arcp__models_row *shown, arcp__llm_use use, arcp_buf *out)
{
    arcp_decimal price = ARCP_DECIMAL_ZERO;
    char text[ARCP_DECIMAL_TEXT_MAX] = "-";
    if (arcp__llm_rate_most(shown->row, use, ARCP__LLM_TIERS_DEFAULT, 0, &price) &&
        arcp__llm_times(price, MILLION, &price) &&
        arcp__llm_scale(price, shown->terms.multiplier, &price)) {
        (void)arcp_decimal_format(price, text);
    }
    append_cell(out, text, PRICE_COLUMNS);
}

static void append_tokens(uint64_t tokens, arcp_buf *out)
{
    char text[24] = "-";
    if (tokens != 0) {
        (void)snprintf(text, sizeof text, "%" PRIu64, tokens);
    }
    append_cell(out, text, TOKENS_COLUMNS);
}

static void append_text(const arcp__models *models, const arcp__models_row *shown, arcp_buf *out)
{
    const arcp__llm_row *row = shown->row;
    arcp_buf name = arcp_buf_init();
    arcp_buf_append(&name, shown->name);
    if (shown->stands_for.size != 0) {
        arcp_buf_append_cstr(&name, " = ");
        arcp_buf_append(&name, shown->stands_for);
    }
    arcp__append_column(out, arcp_buf_span(&name), NAME_COLUMNS);
    arcp_buf_fini(&name);
    arcp__append_column(out, models->config != NULL ? shown->provider : row->mode_name,
                        MODE_COLUMNS);
    if (models->authority != NULL) {
        arcp__append_column(out, arcp_span_cstr(shown->is_allowed ? "allowed" : "denied"),
                            LEASE_COLUMNS);
    }
    if (shown->note != NULL) {
        arcp_buf_append_cstr(out, shown->note);
        return;
    }
    if (row->problem != ARCP__LLM_PROBLEM_NONE) {
        arcp_buf_append_cstr(out, "not bounded: ");
        arcp__append_safe(out, row->key, 80);
        arcp_buf_append_cstr(out, row->key.size == 0 ? "" : " ");
        arcp_buf_append_cstr(out, arcp__llm_problem_text(row->problem));
        return;
    }
    append_price(shown, ARCP__LLM_USE_INPUT, out);
    append_price(shown, ARCP__LLM_USE_OUTPUT, out);
    append_tokens(row->context, out);
    append_tokens(row->output_max, out);
    if (models->has_size) {
        arcp__llm_bound found;
        arcp_error err = {0};
        char text[ARCP_DECIMAL_TEXT_MAX] = "-";
        if (bound(models, shown, &found, &err) == ARCP_OK) {
            (void)arcp_decimal_format(found.total, text);
        }
        append_cell(out, text, PRICE_COLUMNS);
    }
    out->size--; /* no space at the end of the line */
}

void arcp__models_append_header(const arcp__models *models, arcp_buf *out)
{
    const char *second = models->config != NULL ? "PROVIDER" : "MODE";
    arcp__append_column(out, ARCP_SPAN_LITERAL("MODEL"), NAME_COLUMNS);
    arcp__append_column(out, arcp_span_cstr(second), MODE_COLUMNS);
    if (models->authority != NULL) {
        arcp__append_column(out, ARCP_SPAN_LITERAL("LEASE"), LEASE_COLUMNS);
    }
    append_cell(out, "IN/1M", PRICE_COLUMNS);
    append_cell(out, "OUT/1M", PRICE_COLUMNS);
    append_cell(out, "CONTEXT", TOKENS_COLUMNS);
    append_cell(out, "OUTPUT", TOKENS_COLUMNS);
    if (models->has_size) {
        append_cell(out, "AT MOST", PRICE_COLUMNS);
    }
    out->size--;
    arcp_buf_append_byte(out, '\n');
}

void arcp__models_append(const arcp__models *models, const arcp__models_row *shown, arcp_buf *out)
{
    (models->program->is_json ? append_json : append_text)(models, shown, out);
    arcp_buf_append_byte(out, '\n');
}

bool arcp__models_allows(const arcp__models *models, arcp_span name)
{
    arcp_decision decision = {0};
    return models->authority != NULL &&
           arcp_authorize_model(models->authority, models->now, name, models->scratch, &decision);
}

/* ---- the list ---- */

static void append_row(listing *l, const arcp__llm_row *row, arcp_buf *out)
{
    const arcp__models *models = l->models;
    const arcp__models_row shown = {.name = row->name,
                                    .provider = row->provider,
                                    .row = row,
                                    .terms = models->terms,
                                    .is_allowed = arcp__models_allows(models, row->name)};
    if (l->printed++ == 0 && !models->program->is_json) {
        arcp__models_append_header(models, out);
    }
    l->priced += row->mode != ARCP__LLM_MODE_OTHER;
    l->bounded += row->problem == ARCP__LLM_PROBLEM_NONE;
    arcp__models_append(models, &shown, out);
}

static int print_rows(arcp__models *models)
{
    listing l = {.models = models};
    arcp__program *program = models->program;
    arcp_buf out = arcp_buf_init();
    for (size_t i = 0; i < arcp__llm_prices_count(models->prices); i++) {
        const arcp__llm_row *row = arcp__llm_prices_row(models->prices, i);
        if (arcp__models_is_wanted(models, row->name)) {
            append_row(&l, row, &out);
        }
    }
    if (l.printed == 0) {
        arcp_error err = {0};
        const arcp__arguments *arguments = &program->arguments;
        if (arguments->word_count == 0) {
            (void)arcp_error_set(&err, ARCP_E_NOT_FOUND, "the price file has no rows");
        } else {
            (void)arcp_error_set(
                &err, ARCP_E_NOT_FOUND, "no row of the price file has the name '%.80s'%s",
                arguments->words[0], arguments->word_count == 1 ? "" : ", nor one of the others");
        }
        arcp_buf_fini(&out);
        return arcp__program_fail_file(program, &err);
    }
    if (!arcp__program_print_buf(program, &out)) {
        return ARCP__EXIT_ERROR;
    }
    if (!program->is_quiet && !program->is_json) {
        arcp__screen_format(&program->screen,
                            "arcp models: %zu row%s; %zu of chat, responses and embeddings, of "
                            "which %zu can be bounded",
                            l.printed, l.printed == 1 ? "" : "s", l.priced, l.bounded);
    }
    return ARCP__EXIT_SUCCESS;
}

/* ---- the command ---- */

static arcp_status read_count(const arcp__arguments *arguments, arcp__option option, uint64_t *out,
                              bool *is_given, arcp_error *err)
{
    const char *text = arcp__value(arguments, option);
    uint64_t value = 0;
    size_t digits = 0;
    if (text == NULL) {
        return ARCP_OK;
    }
    for (; text[digits] >= '0' && text[digits] <= '9' && digits < 15; digits++) {
        value = value * 10 + (uint64_t)(text[digits] - '0');
    }
    if (digits == 0 || text[digits] != '\0') {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--%s must be a whole number of at most 15 digits: %s",
                              arcp__options[option].name, text);
    }
    *out = value;
    *is_given = true;
    return ARCP_OK;
}

static bool is_stdin(const arcp__arguments *arguments, arcp__option option)
{
    const char *file = arcp__value(arguments, option);
    return file != NULL && strcmp(file, "-") == 0;
}

/* Which options can be given together. */
static arcp_status check_options(const arcp__models *models, bool has_max, arcp_error *err)
{
    const arcp__arguments *arguments = &models->program->arguments;
    const char *route = arcp__value(arguments, ARCP__OPTION_MODELS_ROUTE);
    const bool has_request = arcp__has(arguments, ARCP__OPTION_MODELS_REQUEST);
    if (has_request && (models->has_size || arguments->word_count != 0)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--request takes neither NAME nor --bytes");
    }
    if (has_request && !arcp__has(arguments, ARCP__OPTION_MODELS_PRICES) &&
        (arcp__has(arguments, ARCP__OPTION_MODELS_ALLOW) ||
         arcp__has(arguments, ARCP__OPTION_MODELS_REMOVE_TOOLS))) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--allow and --remove-tools are for --prices: of a configured "
                              "provider the entry in models.providers says it");
    }
    if (is_stdin(arguments, ARCP__OPTION_MODELS_PRICES) +
            is_stdin(arguments, ARCP__OPTION_MODELS_REQUEST) +
            is_stdin(arguments, ARCP__OPTION_MODELS_ANSWER) >
        1) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "only one of --prices, --request and --answer can be standard input");
    }
    if (arcp__has(arguments, ARCP__OPTION_MODELS_BODY) &&
        arcp__has(arguments, ARCP__OPTION_MODELS_ANSWER)) {
        return arcp_error_set(err, ARCP_E_USAGE, "--body and --answer cannot both be given");
    }
    if (has_request && route == NULL) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--request needs --route (chat, responses, embeddings or messages)");
    }
    if (!has_request && route != NULL) {
        return arcp_error_set(err, ARCP_E_USAGE, "--route needs --request");
    }
    if (route != NULL && arcp__llm_route_of(arcp_span_cstr(route)) == ARCP__LLM_ROUTES) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--route: '%s' is not one of chat, responses, embeddings, messages",
                              route);
    }
    if (!has_request && (arcp__has(arguments, ARCP__OPTION_MODELS_ALLOW) ||
                         arcp__has(arguments, ARCP__OPTION_MODELS_BODY) ||
                         arcp__has(arguments, ARCP__OPTION_MODELS_ANSWER) ||
                         arcp__has(arguments, ARCP__OPTION_MODELS_REMOVE_TOOLS))) {
        return arcp_error_set(err, ARCP_E_USAGE,
                              "--allow, --remove-tools, --body and --answer are for --request");
    }
    if (has_max && !models->has_size && !has_request) {
        return arcp_error_set(err, ARCP_E_USAGE, "--max-output is for --bytes and --request");
    }
    return ARCP_OK;
}

static arcp_status read_options(arcp__models *models, arcp_error *err)
{
    const arcp__arguments *arguments = &models->program->arguments;
    arcp_status status = read_count(arguments, ARCP__OPTION_MODELS_BYTES, &models->size.text,
                                    &models->has_size, err);
    if (status == ARCP_OK) {
        status = read_count(arguments, ARCP__OPTION_MODELS_MAX_OUTPUT,
                            &models->terms.max_output_tokens, &models->has_max, err);
    }
    if (status == ARCP_OK) {
        status = check_options(models, models->has_max, err);
    }
    return status;
}

static arcp_status read_lease(arcp__models *models, arcp_error *err)
{
    const char *word = arcp__value(&models->program->arguments, ARCP__OPTION_MODELS_LEASE);
    arcp_status status = ARCP_OK;
    if (word != NULL) {
        arcp_authority_options options = arcp_authority_options_init();
        options.now = models->now;
        status = arcp__lease_load(word, &models->lease, err);
        if (status == ARCP_OK) {
            status = arcp_authority_new(models->lease, &options, &models->authority, err);
        }
        models->scratch = arcp__alloc(sizeof *models->scratch);
        if (status == ARCP_OK && models->scratch == NULL) {
            status = arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory");
        }
    }
    return status;
}

arcp_status arcp__models_file(const char *name, arcp_buf *out, arcp_error *err)
{
    arcp_buf argument = arcp_buf_init();
    /* The option names a file; the function takes @FILE. */
    arcp_buf_append_cstr(&argument, strcmp(name, "-") == 0 ? "" : "@");
    arcp_buf_append_cstr(&argument, name);
    const char *text = arcp_buf_cstr(&argument);
    const arcp_status status = text == NULL ? arcp_error_set(err, ARCP_E_NO_MEMORY, "out of memory")
                                            : arcp__file_text(text, true, out, err);
    arcp_buf_fini(&argument);
    return status;
}

static arcp_status read_prices(arcp__models *models, arcp_error *err)
{
    const char *name = arcp__value(&models->program->arguments, ARCP__OPTION_MODELS_PRICES);
    arcp_buf text = arcp_buf_init();
    arcp_status status = arcp__models_file(name, &text, err);
    if (status == ARCP_OK) {
        status = arcp__llm_prices_read(arcp_buf_span(&text), &models->prices, err);
        if (status != ARCP_OK) {
            const arcp_error why = *err;
            (void)arcp_error_set(err, status, "--prices %.200s: %s", name, why.message);
        }
    }
    arcp_buf_fini(&text);
    return status;
}

const arcp__llm_row *arcp__models_find(const arcp__models *models, arcp__llm_dialect dialect,
                                       arcp_span model)
{
    const arcp__llm_row *row = arcp__llm_prices_find(models->prices, model);
    arcp_buf name = arcp_buf_init();
    arcp_buf_append_cstr(&name, dialect == ARCP__LLM_DIALECT_ANTHROPIC ? "anthropic/" : "openai/");
    arcp_buf_append(&name, model);
    if (row == NULL && !name.failed) {
        row = arcp__llm_prices_find(models->prices, arcp_buf_span(&name));
    }
    arcp_buf_fini(&name);
    return row;
}

int arcp__command_models(arcp__program *program)
{
    arcp__models models = {.program = program,
                           .now = {arcp__now_wall_ns(), 0},
                           .size = {.extra = 512, .answers = 1, .tiers = ARCP__LLM_TIERS_DEFAULT},
                           .terms = arcp__llm_terms_init()};
    arcp_error err = {0};
    int exit_status = ARCP__EXIT_ERROR;
    if (read_options(&models, &err) != ARCP_OK) {
        exit_status = arcp__program_usage(program, &err);
    } else if (read_lease(&models, &err) != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else if (!arcp__has(&program->arguments, ARCP__OPTION_MODELS_PRICES)) {
        exit_status = arcp__models_of_setup(&models);
    } else if (read_prices(&models, &err) != ARCP_OK) {
        exit_status = arcp__program_fail_file(program, &err);
    } else if (arcp__has(&program->arguments, ARCP__OPTION_MODELS_REQUEST)) {
        exit_status = arcp__models_request(&models);
    } else {
        exit_status = print_rows(&models);
    }
    arcp__llm_prices_free(models.prices);
    arcp_authority_unref(models.authority);
    arcp_lease_unref(models.lease);
    arcp__free(models.scratch);
    return exit_status;
}
