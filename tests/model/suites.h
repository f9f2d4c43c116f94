// The suites of this tier, one a file.
#pragma once

#include <check.h>

Suite *checker_suite(void);
Suite *sequential_suite(void);
Suite *concurrent_suite(void);
Suite *leases_suite(void);
Suite *forks_suite(void);
Suite *transaction_checker_suite(void);
Suite *transactions_suite(void);
Suite *limits_suite(void);
Suite *once_suite(void);
