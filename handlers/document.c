// The document was bundled into the binary when it was built.
#include "handlers/document.h"

#include "handlers/context.h"

extern const unsigned char openapi_json[];
extern const size_t openapi_json_size;
extern const unsigned char openapi_yaml[];
extern const size_t openapi_yaml_size;

void document_json(struct request *request)
{
    reply_json(request, 200, bytes_make(openapi_json, openapi_json_size));
}

void document_yaml(struct request *request)
{
    reply_header(request, "Content-Type", "application/yaml");
    reply_send(request, 200, bytes_make(openapi_yaml, openapi_yaml_size));
}
