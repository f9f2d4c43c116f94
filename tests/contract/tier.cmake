# The contract tier: a program that compares routes and document; the script beside it does the rest.
add_executable(contract-routes ${CMAKE_CURRENT_LIST_DIR}/routes.c)
target_link_libraries(contract-routes PRIVATE holdfast-core)
add_test(NAME contract COMMAND ${CMAKE_CURRENT_LIST_DIR}/run)
set_tests_properties(contract PROPERTIES ENVIRONMENT HOLDFAST_BUILD=${CMAKE_BINARY_DIR})
