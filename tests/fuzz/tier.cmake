# The fuzz tier: a libFuzzer program for each parser of outside bytes. It needs clang and is asked for by HOLDFAST_FUZZ;
# `tests/fuzz/run` does both. The whole service is built again here, since what is fuzzed must be watched while it runs.
option(HOLDFAST_FUZZ "Build the fuzz targets (clang only)" OFF)
if(HOLDFAST_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "HOLDFAST_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
endif()
if(HOLDFAST_FUZZ)
    set(FUZZ_OPTIONS -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    add_library(fuzz-core STATIC EXCLUDE_FROM_ALL ${SERVICE_SOURCES} $<TARGET_OBJECTS:holdfast-embedded>)
    target_include_directories(fuzz-core PUBLIC ${PROJECT_SOURCE_DIR}/service ${PROJECT_SOURCE_DIR})
    target_compile_options(fuzz-core PUBLIC ${FUZZ_OPTIONS})
    target_link_libraries(fuzz-core PUBLIC PkgConfig::LIBS Threads::Threads m)

    # What a target has in the place of others: one has no HTTP library, no database and nobody who made tokens.
    set(FUZZ_WRAPPED_request MHD_get_connection_values_n MHD_get_connection_info store_submit
        callers_know reply_without_body)

    add_custom_target(fuzz)
    file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_fuzz.c)
    foreach(source ${FUZZ_TARGETS})
        get_filename_component(name ${source} NAME)
        string(REGEX REPLACE "_fuzz\\.c$" "" name ${name})
        add_executable(fuzz-${name} EXCLUDE_FROM_ALL ${source})
        target_link_libraries(fuzz-${name} PRIVATE fuzz-core)
        target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer,address,undefined)
        foreach(function ${FUZZ_WRAPPED_${name}})
            target_link_options(fuzz-${name} PRIVATE -Wl,--wrap=${function})
        endforeach()
        add_dependencies(fuzz fuzz-${name})
    endforeach()
endif()
