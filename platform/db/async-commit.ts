// Statements whose commit does not wait for the disk.

/**
 * The first term of a `with` that makes its statement commit asynchronously: a crash of the database may lose what it wrote, until a
 * later commit that waits. Only for what is repeated, or not acknowledged before such a commit. It leaves the disk to the commits that
 * callers wait for. The outer statement has to read the term, or PostgreSQL does not evaluate it.
 * https://www.postgresql.org/docs/current/wal-async-commit.html
 */
export const asyncCommit = `async_commit as materialized (
     select set_config('synchronous_commit', 'off', true) as commits
   )`
