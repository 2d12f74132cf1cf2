/* The keys of arcpd.yaml. A new key is a new row in config_table.c, and a line in arcpd.yaml(5) and
 * in packaging/arcpd.yaml; tests/arcpd/config_table_test.c says when one of these is missing. */
#ifndef ARCP_ARCPD_CONFIG_TABLE_H
#define ARCP_ARCPD_CONFIG_TABLE_H

#include "arcpd/config.h"
#include "config/fields.h"

/* The owner is an arcp__config. */
extern const arcp__config_fields arcp__config_top;
/* The words of log.level, in the order of arcp_log_level. */
extern const char *const arcp__config_log_levels[];

/* max_lease and max_budget of an arcp__config_policy (config_ceiling.c). */
extern const arcp__config_type arcp__config_ceiling_lease;
extern const arcp__config_type arcp__config_ceiling_budget;
/* Of an arcp__config_policy: makes its ceiling of both, and its globs "*" where none is given. */
arcp_status arcp__config_policy_check(arcp__yaml_reader *r, void *owner, const char *path,
                                      const yaml_node_t *node);

#endif
