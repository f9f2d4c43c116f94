-- Adds the entries from number `first` on to the bucket `bench` until there are `many`, as PUTs in the order of their keys
-- would have left them, in one go.
begin;
select holdfast.lock_names(array['bench']);
select holdfast.draw_revision() as base \gset
-- A draw reserves 256 revisions; these take as many draws as it needs for one each.
select setval('holdfast.revision', :base + (:many - :first + 255) / 256 * 256);
insert into holdfast.entries (bucket_id, version, path, content_type, value)
select b.id, :base + 1 + i - :first, '\x01'::bytea || convert_to((100000000 + i)::text, 'UTF8'), 'text/plain',
       convert_to((100000000 + i)::text || substr(:'value', 10), 'UTF8')
from holdfast.buckets b, generate_series(:first, :many - 1) i
where b.name = 'bench'
order by i;
commit;
