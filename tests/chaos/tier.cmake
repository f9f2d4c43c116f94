# The chaos tier: faults under load, and every acknowledged write there afterwards.
file(GLOB CHAOS_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
# Histories are judged as those of the model tier are.
list(APPEND CHAOS_SOURCES ${CMAKE_CURRENT_LIST_DIR}/../model/history.c ${CMAKE_CURRENT_LIST_DIR}/../model/linear.c
     ${CMAKE_CURRENT_LIST_DIR}/../model/entry_rule.c)
add_executable(chaos-tests ${CHAOS_SOURCES})
target_link_libraries(chaos-tests PRIVATE test-support)
add_test(NAME chaos COMMAND chaos-tests)

# Goes into PostgreSQL, which has no sanitizers.
add_library(chaos-disk MODULE ${CMAKE_CURRENT_LIST_DIR}/disk/preload.c)
target_include_directories(chaos-disk PRIVATE ${CMAKE_CURRENT_LIST_DIR}/..)
target_compile_options(chaos-disk PRIVATE -fno-sanitize=all)
target_link_options(chaos-disk PRIVATE -fno-sanitize=all)
target_link_libraries(chaos-disk PRIVATE ${CMAKE_DL_LIBS})
target_compile_definitions(chaos-tests PRIVATE HOLDFAST_ARCHITECTURE="${CMAKE_C_LIBRARY_ARCHITECTURE}"
                           HOLDFAST_DISK_LIBRARY="$<TARGET_FILE:chaos-disk>")
add_dependencies(chaos-tests chaos-disk)
