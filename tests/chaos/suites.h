// The suites of this tier, one a file.
#pragma once

#include <check.h>

Suite *replicas_suite(void);
Suite *embedded_suite(void);
Suite *leases_suite(void);
Suite *losing_suite(void);
Suite *disk_suite(void);
