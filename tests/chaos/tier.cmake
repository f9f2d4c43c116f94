# The chaos tier: faults under load, and every acknowledged write there afterwards.
file(GLOB CHAOS_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(chaos-tests ${CHAOS_SOURCES})
target_link_libraries(chaos-tests PRIVATE test-support)
add_test(NAME chaos COMMAND chaos-tests)
