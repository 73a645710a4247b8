// Statements on artefacts and their encrypted chunks.

import { arrayParameter } from '#platform/db/arrays.ts'
import { asyncCommit } from '#platform/db/async-commit.ts'
import { byKey } from '#platform/db/by-key.ts'
import { type Queryable, sql } from '#platform/db/db.ts'
import type { ListedArtefact } from '../domain/account.ts'

/** An artefact that begins. */
export type NewArtefact = {
  artefactId: string
  projectId: string
  field: string
  mediaType: string
  keySealed: string
}

const insertStatement = sql(
  'artefact_insert',
  `with ${asyncCommit}
   insert into artefact (artefact_id, project_id, field, media_type, key_sealed)
   select $1, project_id, $3, $4, $5 from project, async_commit
   where project_id = $2 and async_commit.commits = 'off'`,
)

/**
 * Inserts an artefact of an upload under way; false for an unknown project. This commit and those of the chunks do not wait for the
 * disk: the commit that attaches the artefact to its review does, and the log of PostgreSQL is written in order.
 */
export async function insertArtefact(db: Queryable, artefact: NewArtefact): Promise<boolean> {
  const { artefactId, projectId, field, mediaType, keySealed } = artefact
  return (await db.run(insertStatement, [artefactId, projectId, field, mediaType, keySealed])) === 1
}

const insertChunksStatement = sql(
  'artefact_chunks_insert',
  `with ${asyncCommit}
   insert into artefact_chunk (artefact_id, chunk_index, ciphertext)
   select $1::uuid, $2::integer + c.n - 1, c.ciphertext
   from unnest($3::bytea[]) with ordinality as c (ciphertext, n), async_commit
   where async_commit.commits = 'off'`,
)

/**
 * Inserts the next chunks of an artefact, encrypted, from the index `first` on. Their commit does not wait for the disk, as that of
 * `insertArtefact`.
 */
export async function insertChunks(
  db: Queryable,
  artefactId: string,
  first: number,
  ciphertexts: readonly Buffer[],
): Promise<void> {
  const chunks = arrayParameter('bytea', ciphertexts)
  await db.run(insertChunksStatement, [artefactId, first, chunks])
}

/** An artefact whose last chunk is stored. */
export type WholeArtefact = { artefactId: string; sizeBytes: number; chunkCount: number }

const attachStatement = sql(
  'artefact_attach',
  `update artefact set review_id = $1, size_bytes = w.size_bytes, chunk_count = w.chunk_count
   from unnest($2::uuid[], $3::bigint[], $4::int[]) as w(artefact_id, size_bytes, chunk_count)
   where ${byKey('artefact.artefact_id', 'w.artefact_id')} and artefact.review_id is null`,
)

/** Gives whole artefacts to their review. */
export async function attachArtefacts(
  tx: Queryable,
  reviewId: string,
  artefacts: readonly WholeArtefact[],
): Promise<void> {
  const attached = await tx.run(attachStatement, [
    reviewId,
    artefacts.map(({ artefactId }) => artefactId),
    artefacts.map(({ sizeBytes }) => sizeBytes),
    artefacts.map(({ chunkCount }) => chunkCount),
  ])
  if (attached !== artefacts.length) throw new Error('an artefact of the upload has gone')
}

const deleteStatement = sql(
  'artefact_delete',
  `delete from artefact where artefact_id = any($1::uuid[]) and review_id is null`,
)

/** Removes artefacts of an upload that came to nothing, with their chunks. */
export async function deleteArtefacts(db: Queryable, artefactIds: string[]): Promise<void> {
  await db.run(deleteStatement, [artefactIds])
}

const sweepStatement = sql(
  'artefact_sweep',
  `delete from artefact where artefact_id in (
     select artefact_id from artefact
     where review_id is null and create_time < clock_now() - $1 * interval '1 s'
     order by create_time limit $2)`,
)

/** Removes artefacts whose upload broke this long ago; answers how many. */
export function deleteOrphans(db: Queryable, olderThanS: number, limit: number): Promise<number> {
  return db.run(sweepStatement, [olderThanS, limit])
}

const listStatement = sql(
  'artefact_list',
  `select artefact_id as "artefactId", field, media_type as "mediaType", size_bytes as "sizeBytes"
   from artefact where review_id = $1 order by field`,
)

/** Lists the artefacts of a review. Locks nothing. */
export function listArtefacts(db: Queryable, reviewId: string): Promise<ListedArtefact[]> {
  return db.rows(listStatement, [reviewId])
}

const readStatement = sql(
  'artefact_read',
  `select f.key_sealed as "keySealed", f.chunk_count as "chunkCount"
   from artefact f join review r on r.review_id = f.review_id
   where r.review_id = $1 and f.artefact_id = $2 and r.state = 'open'`,
)

/** Reads how to decrypt an artefact of an open review. Locks nothing. */
export function readArtefact(
  db: Queryable,
  reviewId: string,
  artefactId: string,
): Promise<{ keySealed: string; chunkCount: number } | undefined> {
  return db.row(readStatement, [reviewId, artefactId])
}

const readChunkStatement = sql(
  'artefact_chunk_read',
  `select ciphertext from artefact_chunk where artefact_id = $1 and chunk_index = $2`,
)

/** Reads a chunk, encrypted. Locks nothing. */
export async function readChunk(
  db: Queryable,
  artefactId: string,
  chunkIndex: number,
): Promise<Buffer | undefined> {
  const row = await db.row<{ ciphertext: Buffer }>(readChunkStatement, [artefactId, chunkIndex])
  return row?.ciphertext
}
