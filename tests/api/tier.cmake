# The api tier: every *_test.c here defines `Suite *<name>_suite(void)` and is run by one binary, found by its name; what they share are the *_steps.c.
file(GLOB API_STEPS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_steps.c)
file(GLOB API_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.c)
set(API_SUITES "")
foreach(test ${API_TESTS})
    get_filename_component(name ${test} NAME)
    string(REGEX REPLACE "_test\\.c$" "" name ${name})
    string(APPEND API_SUITES "SUITE(${name})\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/api/suites.inc CONTENT "${API_SUITES}")

add_executable(api-tests ${CMAKE_CURRENT_LIST_DIR}/main.c ${CMAKE_CURRENT_LIST_DIR}/api.c
               ${API_STEPS} ${API_TESTS})
target_include_directories(api-tests PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_BINARY_DIR}/api)
target_link_libraries(api-tests PRIVATE test-support)
add_test(NAME api COMMAND ${CMAKE_CURRENT_LIST_DIR}/run)
set_tests_properties(api PROPERTIES ENVIRONMENT HOLDFAST_BUILD=${CMAKE_BINARY_DIR})
target_compile_definitions(api-tests PRIVATE HOLDFAST_CHECKOUT="${PROJECT_SOURCE_DIR}")
