# The fuzz tier: a libFuzzer program for each parser of outside bytes. It needs clang and is asked for by HOLDFAST_FUZZ;
# `tests/fuzz/run` does both. The base room is built again here, since it must be watched while it runs,
# and so are the other parsers.
option(HOLDFAST_FUZZ "Build the fuzz targets (clang only)" OFF)
if(HOLDFAST_FUZZ AND NOT CMAKE_C_COMPILER_ID MATCHES Clang)
    message(FATAL_ERROR "HOLDFAST_FUZZ needs clang: configure with -DCMAKE_C_COMPILER=clang")
endif()
if(HOLDFAST_FUZZ)
    set(FUZZ_OPTIONS -O1 -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
    file(GLOB FUZZ_BASE CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/service/base/*.c
         ${PROJECT_SOURCE_DIR}/service/http/conditions.c ${PROJECT_SOURCE_DIR}/service/security/grant.c
         ${PROJECT_SOURCE_DIR}/service/security/token.c ${PROJECT_SOURCE_DIR}/service/security/seal.c
         ${PROJECT_SOURCE_DIR}/service/security/keys.c)
    add_library(fuzz-base STATIC ${FUZZ_BASE})
    target_include_directories(fuzz-base PUBLIC ${PROJECT_SOURCE_DIR}/service)
    target_compile_options(fuzz-base PUBLIC ${FUZZ_OPTIONS})
    target_link_libraries(fuzz-base PUBLIC PkgConfig::LIBS Threads::Threads m)

    add_custom_target(fuzz)
    file(GLOB FUZZ_TARGETS CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*_fuzz.c)
    foreach(source ${FUZZ_TARGETS})
        get_filename_component(name ${source} NAME)
        string(REGEX REPLACE "_fuzz\\.c$" "" name ${name})
        add_executable(fuzz-${name} ${source})
        target_link_libraries(fuzz-${name} PRIVATE fuzz-base)
        target_link_options(fuzz-${name} PRIVATE -fsanitize=fuzzer,address,undefined)
        add_dependencies(fuzz fuzz-${name})
    endforeach()
endif()
