// The suite of this tier.
#pragma once

#include <check.h>

Suite *soak_suite(void);
