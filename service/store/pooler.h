// Whether two addresses, one of a pooler and one of a server, lead to the same database.
#pragma once

enum pooler_leads {
    POOLER_LEADS_THERE,
    POOLER_LEADS_ELSEWHERE,
    POOLER_LEADS_UNKNOWN, // one of them cannot be asked now
};

// Both are libpq connection strings. Connects to both and blocks, for some seconds when nobody answers.
enum pooler_leads pooler_check(const char *pooled, const char *direct);
