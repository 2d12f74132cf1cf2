/* Copies a plan into one allocation. */
#include "base/alloc.h"
#include "sandbox/sandbox_parts.h"

/* Where copies go. Without memory only their sizes are counted. */
typedef struct packer {
    char *memory; /* NULL: counting */
    size_t used;
} packer;

static void pack_text(packer *p, arcp_span *text)
{
    if (p->memory != NULL) {
        char *copy = p->memory + p->used;
        if (text->size != 0) {
            memcpy(copy, text->data, text->size);
        }
        copy[text->size] = '\0';
        text->data = copy;
    }
    p->used += text->size + 1;
}

/* The array's copy, or the array itself. */
static void *pack_array(packer *p, const void *array, size_t count, size_t size)
{
    const size_t bytes = count * size;
    const size_t at = (p->used + _Alignof(max_align_t) - 1) & ~(_Alignof(max_align_t) - 1);
    p->used = at + bytes;
    if (p->memory == NULL) {
        return (void *)array;
    }
    if (bytes != 0) {
        memcpy(p->memory + at, array, bytes);
    }
    return p->memory + at;
}

static void pack_arrays(packer *p, arcp__sandbox_plan *plan)
{
    plan->lines = pack_array(p, plan->lines, plan->line_count, sizeof *plan->lines);
    plan->mounts = pack_array(p, plan->mounts, plan->mount_count, sizeof *plan->mounts);
    plan->rules = pack_array(p, plan->rules, plan->rule_count, sizeof *plan->rules);
    plan->reads = pack_array(p, plan->reads, plan->read_count, sizeof *plan->reads);
    plan->writes = pack_array(p, plan->writes, plan->write_count, sizeof *plan->writes);
    plan->own = pack_array(p, plan->own, plan->own_count, sizeof *plan->own);
    plan->own_files = pack_array(p, plan->own_files, plan->own_file_count, sizeof *plan->own_files);
    plan->ports = pack_array(p, plan->ports, plan->port_count, sizeof *plan->ports);
}

static void pack_spans(packer *p, const arcp_span *spans, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        arcp_span text = spans[i];
        pack_text(p, &text);
        if (p->memory != NULL) {
            ((arcp_span *)spans)[i] = text;
        }
    }
}

/* The texts of a plan whose arrays are its own already (or are only counted). */
static void pack_texts(packer *p, arcp__sandbox_plan *plan)
{
    for (size_t i = 0; i < plan->line_count; i++) {
        arcp__sandbox_line line = plan->lines[i];
        pack_text(p, &line.capability);
        pack_text(p, &line.pattern);
        if (p->memory != NULL) {
            ((arcp__sandbox_line *)plan->lines)[i] = line;
        }
    }
    for (size_t i = 0; i < plan->mount_count; i++) {
        arcp__sandbox_mount mount = plan->mounts[i];
        pack_text(p, &mount.source);
        pack_text(p, &mount.target);
        if (p->memory != NULL) {
            ((arcp__sandbox_mount *)plan->mounts)[i] = mount;
        }
    }
    for (size_t i = 0; i < plan->rule_count; i++) {
        arcp__sandbox_rule rule = plan->rules[i];
        pack_text(p, &rule.path);
        if (p->memory != NULL) {
            ((arcp__sandbox_rule *)plan->rules)[i] = rule;
        }
    }
    pack_spans(p, plan->reads, plan->read_count);
    pack_spans(p, plan->writes, plan->write_count);
    pack_spans(p, plan->own, plan->own_count);
    pack_spans(p, plan->own_files, plan->own_file_count);
    pack_text(p, &plan->cwd);
    pack_text(p, &plan->home);
    pack_text(p, &plan->tmp);
    pack_text(p, &plan->fresh);
}

arcp__sandbox_plan *arcp__sandbox_plan_pack(const arcp__sandbox_plan *draft)
{
    arcp__sandbox_plan counted = *draft;
    packer p = {NULL, sizeof *draft};
    pack_arrays(&p, &counted);
    pack_texts(&p, &counted);
    arcp__sandbox_plan *plan = arcp__alloc(p.used);
    if (plan == NULL) {
        return NULL;
    }
    *plan = *draft;
    p = (packer){(char *)plan, sizeof *draft};
    pack_arrays(&p, plan);
    pack_texts(&p, plan);
    return plan;
}
