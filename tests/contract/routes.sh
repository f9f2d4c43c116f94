# Checks that the routes and the operations of the OpenAPI document are the same, and that the service serves the
# document which was linted.

check_routes() {
    local difference
    if difference=$("$HOLDFAST_BUILD/tests/contract-routes"); then
        pass
    else
        fail 'routes and the OpenAPI document' "$difference"
    fi
}

check_served_document() {
    local form
    for form in yaml json; do
        if curl -sf "$service_url/openapi.$form" | cmp -s - "${document%.yaml}.$form"; then
            pass
        else
            fail "/openapi.$form is the bundled document"
        fi
    done
}
