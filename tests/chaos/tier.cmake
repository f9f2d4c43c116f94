# The chaos tier: faults under load, and every acknowledged write there afterwards.
file(GLOB CHAOS_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(chaos-tests ${CHAOS_SOURCES})
target_link_libraries(chaos-tests PRIVATE test-support)
target_compile_definitions(chaos-tests PRIVATE HOLDFAST_ARCHITECTURE="${CMAKE_C_LIBRARY_ARCHITECTURE}")
add_test(NAME chaos COMMAND chaos-tests)
