# The model tier: random operations against a model in memory, and concurrent histories against the rule of an entry.
file(GLOB MODEL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(model-tests ${MODEL_SOURCES})
target_link_libraries(model-tests PRIVATE test-support holdfast-core)
add_test(NAME model COMMAND model-tests)
