-- Sessions that a pooler lends for one transaction: made fit for our statements at the beginning of each.

create or replace function holdfast.begin_pooled(planned boolean, writes boolean, lock_ms text, idle_ms text) returns void
language plpgsql volatile
as $$
declare
    done text;
begin
    -- Assignments instead of PERFORM: plpgsql evaluates them without starting a query.
    done := pg_catalog.set_config('search_path', 'pg_catalog', true);
    done := pg_catalog.set_config('statement_timeout', '0', true);
    done := pg_catalog.set_config('lock_timeout', lock_ms, true);
    done := pg_catalog.set_config('idle_in_transaction_session_timeout', idle_ms, true);
    done := pg_catalog.set_config('jit', 'off', true);
    done := pg_catalog.set_config('client_min_messages', 'error', true);
    if planned then
        done := pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', true);
        done := pg_catalog.set_config('enable_seqscan', 'off', true);
        done := pg_catalog.set_config('enable_bitmapscan', 'off', true);
        done := pg_catalog.set_config('enable_hashjoin', 'off', true);
        done := pg_catalog.set_config('enable_mergejoin', 'off', true);
    end if;
    if pg_catalog.current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'a transaction above read committed' using errcode = 'HF002';
    end if;
    if writes then
        if pg_catalog.current_setting('transaction_read_only') = 'on' then
            raise exception 'the server takes no writes' using errcode = 'read_only_sql_transaction';
        end if;
        if not exists (select from holdfast.lifted l where l.server_started = pg_catalog.pg_postmaster_start_time()) then
            perform holdfast.refuse_restored();
        end if;
    end if;
end
$$;
comment on function holdfast.begin_pooled(boolean, boolean, text, text) is
    'Gives the transaction the settings that a connection without a pooler asks for when it is opened. Fails with HF002 in '
    'a transaction above read committed and, for one that `writes`, with HF001 when the server is not the one that the '
    'revision was last lifted on.';
