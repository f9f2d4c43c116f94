// The OpenAPI document, as YAML and as JSON.
#pragma once

struct request;

void document_json(struct request *request);
void document_yaml(struct request *request);
