# Uses of quotas of two windows, of many keys, against the upsert that a user would write by hand.
row_quota() {
    need service pgbench limits quota_keys || return
    pair 'quota allow, 64 connections, distinct keys / pgbench upsert, its best' '>= 3' \
        'holdfast_quota rate 64' -- 'pgbench_upsert rate 8' 'pgbench_upsert rate 16' 'pgbench_upsert rate 32'
}
