# Pages of a list, against the same SELECT as a user would write it by hand.
row_scan() {
    need service pgbench || return
    pair 'pages of 100 entries, 64 connections / pgbench SELECT of them, its best' '>= 0.5' \
        'holdfast_page rate 64' -- 'pgbench_page rate 2' 'pgbench_page rate 8' 'pgbench_page rate 16'
}
