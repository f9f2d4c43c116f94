# The files of the two pages travel in the binary, with a table that says which there are: openapi/docs/ is served below
# /docs, openapi/ui/ below /ui. A file that is added or removed makes the next build configure itself again.
set(PAGE_DECLARATIONS "")
set(PAGE_TABLE "")

macro(embed_pages page folder)
    file(GLOB PAGE_FILES CONFIGURE_DEPENDS ${folder}/*.html ${folder}/*.js ${folder}/*.css ${folder}/*.svg)
    list(SORT PAGE_FILES)
    foreach(file ${PAGE_FILES})
        get_filename_component(page_name ${file} NAME)
        if(NOT page_name MATCHES "^[a-z]+\\.[a-z]+$")
            message(FATAL_ERROR "${file}: the name of a page's file is made of a-z")
        endif()
        string(REPLACE "." "_" page_symbol "page_${page}_${page_name}")
        embed(EMBEDDED_SOURCES ${page_symbol} ${file})
        string(APPEND PAGE_DECLARATIONS
               "extern const unsigned char ${page_symbol}[];\nextern const size_t ${page_symbol}_size;\n")
        string(APPEND PAGE_TABLE "    {\"${page}\", \"${page_name}\", ${page_symbol}, &${page_symbol}_size},\n")
    endforeach()
endmacro()

embed_pages(docs ${CMAKE_CURRENT_SOURCE_DIR}/openapi/docs)
embed_pages(ui ${CMAKE_CURRENT_SOURCE_DIR}/openapi/ui)

set(PAGE_TABLE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/embedded/page_files.c)
file(CONFIGURE OUTPUT ${PAGE_TABLE_SOURCE} @ONLY CONTENT [[
// Which files of pages are compiled in; written by openapi/pages.cmake.
#include "handlers/page_files.h"

@PAGE_DECLARATIONS@
const struct page_file page_files[] = {
@PAGE_TABLE@    {NULL, NULL, NULL, NULL},
};
]])
list(APPEND EMBEDDED_SOURCES ${PAGE_TABLE_SOURCE})
