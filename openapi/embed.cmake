# The OpenAPI document is written in files of a readable size, made into one while building, and served from the binary
# as YAML (openapi_yaml) and as JSON (openapi_json).
pkg_check_modules(OPENAPI_BUNDLE REQUIRED IMPORTED_TARGET yaml-0.1 jansson)
file(GLOB OPENAPI_BUNDLE_SOURCES CONFIGURE_DEPENDS openapi/bundle/*.c)
add_executable(openapi-bundle ${OPENAPI_BUNDLE_SOURCES})
target_link_libraries(openapi-bundle PRIVATE PkgConfig::OPENAPI_BUNDLE)

file(GLOB_RECURSE OPENAPI_FILES CONFIGURE_DEPENDS openapi/*.yaml)
set(OPENAPI_YAML ${CMAKE_CURRENT_BINARY_DIR}/embedded/openapi.yaml)
set(OPENAPI_JSON ${CMAKE_CURRENT_BINARY_DIR}/embedded/openapi.json)
file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/embedded)
add_custom_command(
    OUTPUT ${OPENAPI_YAML} ${OPENAPI_JSON}
    COMMAND openapi-bundle ${CMAKE_CURRENT_SOURCE_DIR}/openapi ${PROJECT_VERSION} ${OPENAPI_YAML} ${OPENAPI_JSON}
    DEPENDS openapi-bundle ${OPENAPI_FILES}
    COMMENT "Bundling the OpenAPI document"
    VERBATIM)

embed(EMBEDDED_SOURCES openapi_yaml ${OPENAPI_YAML})
embed(EMBEDDED_SOURCES openapi_json ${OPENAPI_JSON})
# The documents themselves are listed as sources so that the target they are embedded in has the rule that makes them.
list(APPEND EMBEDDED_SOURCES ${OPENAPI_YAML} ${OPENAPI_JSON})
