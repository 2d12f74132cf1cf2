/* The entries of `tokens` and `jwt` in the configuration file: one call each. */
#ifndef ARCP_ARCPD_CONFIG_TOKENS_H
#define ARCP_ARCPD_CONFIG_TOKENS_H

#include "arcpd/yaml_reader.h"

arcp_status arcp__yaml_token_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node);
arcp_status arcp__yaml_jwt_item(arcp__yaml_reader *r, const char *path, const yaml_node_t *node);

#endif
