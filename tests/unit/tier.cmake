# The unit tier: every *_test.c here defines `Suite *<name>_suite(void)` and is run by one binary, found by its name.
file(GLOB UNIT_TESTS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_test.c)
set(UNIT_SUITES "")
foreach(test ${UNIT_TESTS})
    get_filename_component(name ${test} NAME)
    string(REGEX REPLACE "_test\\.c$" "" name ${name})
    string(APPEND UNIT_SUITES "SUITE(${name})\n")
endforeach()
file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/unit/suites.inc CONTENT "${UNIT_SUITES}")

add_executable(unit-tests ${CMAKE_CURRENT_LIST_DIR}/main.c ${CMAKE_CURRENT_LIST_DIR}/../support/random.c ${UNIT_TESTS})
target_include_directories(unit-tests PRIVATE ${CMAKE_CURRENT_LIST_DIR} ${CMAKE_CURRENT_LIST_DIR}/.. ${CMAKE_CURRENT_BINARY_DIR}/unit)
target_link_libraries(unit-tests PRIVATE holdfast-core PkgConfig::CHECK)
add_test(NAME unit COMMAND unit-tests)
if(HOLDFAST_SANITIZE)
    # Leaks are looked for when a process ends: once, not once a test.
    set_tests_properties(unit PROPERTIES ENVIRONMENT CK_FORK=no)
endif()
