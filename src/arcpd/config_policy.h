/* The entries of `policy` in the configuration file: one call each. */
#ifndef ARCP_ARCPD_CONFIG_POLICY_H
#define ARCP_ARCPD_CONFIG_POLICY_H

#include "arcpd/yaml_reader.h"

arcp_status arcp__yaml_policy_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node);

#endif
