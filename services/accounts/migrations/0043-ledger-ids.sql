-- Holds and transfers share their ids: a hold becomes the transfer of its id. Each statement looked for the id in the other table as its
-- snapshot had it, so a hold and a transfer of one id that were made at once were both written.

-- The numbers, from 1, of the ids that may be those of new holds (`are_holds`) or transfers, without the refused ones: those that no
-- transfer or no hold of the project has. Locks the ids in their order until the transaction ends. Who waited for one sees what was
-- written with it, since each query of a volatile function has a snapshot of its own.
create function free_ledger_ids(are_holds boolean, projects uuid[], ids uuid[], refused integer[])
  returns integer[] language plpgsql volatile
as $$
begin
  perform pg_advisory_xact_lock(uuid_hash_extended(id, 0))
    from unnest(ids) with ordinality as wanted(id, n) where n <> all(refused);
  return array(
    select n::integer from unnest(projects, ids) with ordinality as wanted(project, id, n)
    where n <> all(refused) and case
      when are_holds then not exists (
        select from transfer t where t.project_id = wanted.project and t.transfer_id = wanted.id)
      else not exists (
        select from hold h where h.project_id = wanted.project and h.hold_id = wanted.id)
    end);
end
$$;
