# The soak, run by hand: the clients of the chaos tier without its faults.
add_executable(soak-tests ${CMAKE_CURRENT_LIST_DIR}/main.c ${CMAKE_CURRENT_LIST_DIR}/soak_test.c
               ${CMAKE_CURRENT_LIST_DIR}/samples.c ${CMAKE_CURRENT_LIST_DIR}/../chaos/load.c
               ${CMAKE_CURRENT_LIST_DIR}/../chaos/caller.c ${CMAKE_CURRENT_LIST_DIR}/../chaos/totals.c
               ${CMAKE_CURRENT_LIST_DIR}/../chaos/ledger.c ${CMAKE_CURRENT_LIST_DIR}/../chaos/limits.c
               ${CMAKE_CURRENT_LIST_DIR}/../chaos/transfers.c ${CMAKE_CURRENT_LIST_DIR}/../chaos/waits.c
               ${CMAKE_CURRENT_LIST_DIR}/../chaos/frozen.c)
target_link_libraries(soak-tests PRIVATE test-support)
