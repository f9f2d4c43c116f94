// The suites of this tier, one a file.
#pragma once

#include <check.h>

Suite *checker_suite(void);
Suite *sequential_suite(void);
Suite *concurrent_suite(void);
