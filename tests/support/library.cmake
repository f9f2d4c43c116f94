# The harness that the tiers with a real service share.
file(GLOB SUPPORT_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_library(test-support STATIC ${SUPPORT_SOURCES})
target_include_directories(test-support PUBLIC ${CMAKE_CURRENT_LIST_DIR}/.. ${PROJECT_SOURCE_DIR}/service)
target_compile_definitions(test-support PRIVATE HOLDFAST_BIN="$<TARGET_FILE:holdfast>" HOLDFAST_DOCUMENT="${OPENAPI_JSON}")
target_link_libraries(test-support PUBLIC PkgConfig::LIBS PkgConfig::CHECK CURL::libcurl Threads::Threads)
add_dependencies(test-support holdfast)
