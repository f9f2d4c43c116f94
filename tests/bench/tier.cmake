# The benchmark's programs; tests/bench/run measures with them, and the check below keeps the generator's judgement honest.
add_executable(bench-load bench/load.c bench/plan.c bench/template.c bench/reply.c bench/latency.c)
add_executable(bench-waits bench/waits.c bench/reply.c bench/latency.c)
add_executable(bench-ceiling bench/ceiling.c)
target_link_libraries(bench-ceiling PRIVATE PkgConfig::LIBS)
add_test(NAME bench-check COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/bench/check $<TARGET_FILE:bench-load>
                                  $<TARGET_FILE:bench-ceiling>)
