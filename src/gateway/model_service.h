/* The gateway's service for models: routes /v1/... docs/gateways.md. */
#ifndef ARCP_GATEWAY_MODEL_SERVICE_H
#define ARCP_GATEWAY_MODEL_SERVICE_H

#include "gateway/gateway_job.h"

/* Its configuration is an arcp__model_config. */
extern const arcp__gateway_service arcp__model_service;

#endif
