# The real tier: data sets as Debian's packages carry them, through the whole service. tests/real/run runs it.
file(GLOB REAL_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.c)
add_executable(real-load ${REAL_SOURCES})
target_link_libraries(real-load PRIVATE test-support)
add_test(NAME real COMMAND ${CMAKE_CURRENT_LIST_DIR}/run)
set_tests_properties(real PROPERTIES ENVIRONMENT HOLDFAST_BUILD=${CMAKE_BINARY_DIR})
