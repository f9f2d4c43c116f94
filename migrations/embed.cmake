# Every migration and function file is compiled into the binary, with a table that says which there are.
#
# Migrations are migrations/NNNN_name.sql, numbered from 0001 without a gap; functions are migrations/functions/name.sql.
# A file that is added or removed makes the next build configure itself again.
#
# Replicas of the release before serve while a migration is applied and after it, so each says in a line of its own
#     -- serves from: NNNN
# which migration a binary must know to serve beside it: the one before when it only adds, as it should; its own number
# when it takes something away, and then the replicas of the release before are not ready any more.
file(GLOB MIGRATION_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/migrations/*.sql)
file(GLOB FUNCTION_FILES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/migrations/functions/*.sql)
list(SORT MIGRATION_FILES)
list(SORT FUNCTION_FILES)

set(SQL_DECLARATIONS "")

# Embeds `file` and appends its entry to the text in the variable `table`.
macro(embed_sql table prefix file serves_from)
    get_filename_component(sql_name ${file} NAME_WE)
    if(NOT sql_name MATCHES "^[a-z0-9_]+$" OR NOT ${file} MATCHES "/[a-z0-9_]+\\.sql$")
        message(FATAL_ERROR "${file}: a SQL file's name is made of a-z, 0-9 and _")
    endif()
    set(sql_symbol embedded_${prefix}_${sql_name})
    embed(EMBEDDED_SOURCES ${sql_symbol} ${file})
    string(APPEND SQL_DECLARATIONS
           "extern const unsigned char ${sql_symbol}[];\nextern const size_t ${sql_symbol}_size;\n")
    string(APPEND ${table} "    {\"${sql_name}\", ${sql_symbol}, &${sql_symbol}_size, ${serves_from}},\n")
endmacro()

set(MIGRATION_TABLE "")
set(MIGRATION_COUNT 0)
set(FIRST_RELEASE 13) # up to it nobody serves beside anything
foreach(file ${MIGRATION_FILES})
    math(EXPR MIGRATION_COUNT "${MIGRATION_COUNT} + 1")
    get_filename_component(name ${file} NAME)
    if(NOT name MATCHES "^([0-9][0-9][0-9][0-9])_")
        message(FATAL_ERROR "${file}: a migration's name begins with its number, as in 0001_")
    endif()
    math(EXPR number "1${CMAKE_MATCH_1} - 10000")
    if(NOT number EQUAL MIGRATION_COUNT)
        message(FATAL_ERROR "${file}: migrations are numbered without a gap; expected number ${MIGRATION_COUNT}")
    endif()
    set(serves_from ${number})
    file(STRINGS ${file} said REGEX "^-- serves from: [0-9][0-9][0-9][0-9]$")
    if(said MATCHES "([0-9]+)$")
        math(EXPR serves_from "1${CMAKE_MATCH_1} - 10000")
    elseif(number GREATER FIRST_RELEASE)
        message(FATAL_ERROR "${file}: a migration says which binaries serve beside it: -- serves from: NNNN")
    endif()
    embed_sql(MIGRATION_TABLE migration ${file} ${serves_from})
endforeach()

set(FUNCTION_TABLE "")
foreach(file ${FUNCTION_FILES})
    embed_sql(FUNCTION_TABLE functions ${file} 0)
endforeach()

set(SQL_TABLE_SOURCE ${CMAKE_CURRENT_BINARY_DIR}/embedded/sql_files.c)
file(CONFIGURE OUTPUT ${SQL_TABLE_SOURCE} @ONLY CONTENT [[
// Which SQL files are compiled in; written by migrations/embed.cmake.
#include "store/sql_files.h"

@SQL_DECLARATIONS@
const struct sql_file sql_migrations[] = {
@MIGRATION_TABLE@    {NULL, NULL, NULL, 0},
};

const struct sql_file sql_functions[] = {
@FUNCTION_TABLE@    {NULL, NULL, NULL, 0},
};
]])
list(APPEND EMBEDDED_SOURCES ${SQL_TABLE_SOURCE})
