# The OpenAPI document is served as it is written here.
