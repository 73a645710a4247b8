// Reads sealed values page by page and replaces them, column by column.

import { badPageToken } from '#core/paging.ts'
import { type Queryable, type Sql, sql } from '#platform/db/db.ts'
import type { SealedColumn } from '../domain/at-rest.ts'

/** A sealed value of a column; `rowId` as its seal is bound to it, which is also its cursor in the table. */
export type SealedValue = { rowId: string; sealed: string }

/** A value to be replaced, unless it has changed since it was read. */
export type Replacement = { rowId: string; before: string; after: string }

type Table = { key: readonly string[]; type: 'uuid' | 'text' }

const tables: Record<string, Table> = {
  institution_key: { key: ['key_id'], type: 'text' },
  review: { key: ['review_id'], type: 'uuid' },
  challenge: { key: ['challenge_id'], type: 'uuid' },
  business_owner: { key: ['project_id', 'merchant_id'], type: 'uuid' },
  artefact: { key: ['artefact_id'], type: 'uuid' },
}

const beforeAll = { uuid: '00000000-0000-0000-0000-000000000000', text: '' } as const

/** Enough of a value to read its form and its key. */
const headerLength = 8

type Statements = { table: Table; values: Sql; headers: Sql; replace: Sql }

/** The statements of a column. */
function statementsOf(column: SealedColumn): Statements {
  const [name = '', field = ''] = column.split('.')
  const table = tables[name]
  if (table === undefined) throw new Error(`no table of ${column}`)
  const { key, type } = table
  const rowId = key.map((part) => `t.${part}::text`).join(` || '/' || `)
  const after = key.map((_, index) => `$${index + 1}::${type}`).join(', ')
  const keys = key.map((part) => `t.${part}`).join(', ')
  const page = (shown: string) =>
    `select ${rowId} as "rowId", ${shown} as sealed from ${name} t
     where (${keys}) > (${after}) and t.${field} is not null
     order by ${keys} limit $${key.length + 1}`
  const arrays = key.map((_, index) => `$${index + 1}::${type}[]`).join(', ')
  const [before, replaced] = [key.length + 1, key.length + 2]
  const same = (left: string, right: string) =>
    key.map((part) => `${left}.${part} = ${right}.${part}`).join(' and ')
  const statement = (kind: string, text: string) => sql(`sealed_${kind}_${name}_${field}`, text)
  return {
    table,
    values: statement('values', page(`t.${field}`)),
    headers: statement('headers', page(`left(t.${field}, ${headerLength})`)),
    replace: statement(
      'replace',
      `with unlocked as (
         select ${keys}, n.after
         from unnest(${arrays}, $${before}::text[], $${replaced}::text[])
           as n(${key.join(', ')}, before, after)
         join ${name} t on ${same('t', 'n')}
         where t.${field} = n.before
         for update of t skip locked
       )
       update ${name} t set ${field} = unlocked.after from unlocked where ${same('t', 'unlocked')}`,
    ),
  }
}

const statements = new Map<SealedColumn, Statements>()

function of(column: SealedColumn): Statements {
  const made = statements.get(column) ?? statementsOf(column)
  statements.set(column, made)
  return made
}

/** Reads up to `limit` values of a column after a row (empty: from the first), whole. Locks nothing. */
export function readSealed(
  db: Queryable,
  column: SealedColumn,
  after: string,
  limit: number,
): Promise<SealedValue[]> {
  const { table, values } = of(column)
  return db.rows(values, [...cursorValues(table, after), limit])
}

/** The same, of each value its first characters alone. */
export function readSealedHeaders(
  db: Queryable,
  column: SealedColumn,
  after: string,
  limit: number,
): Promise<SealedValue[]> {
  const { table, headers } = of(column)
  return db.rows(headers, [...cursorValues(table, after), limit])
}

function cursorValues({ key, type }: Table, after: string): string[] {
  if (after === '') return key.map(() => beforeAll[type])
  const values = after.split('/')
  if (values.length !== key.length) throw badPageToken()
  return values
}

/**
 * Replaces values of a column that are still what they were; answers how many. Rows that somebody else has locked are
 * left: no lock is waited for.
 */
export async function replaceSealed(
  db: Queryable,
  column: SealedColumn,
  replacements: readonly Replacement[],
): Promise<number> {
  if (replacements.length === 0) return 0
  const { table, replace } = of(column)
  const rowIds = replacements.map(({ rowId }) => rowId.split('/'))
  return db.run(replace, [
    ...table.key.map((_, index) => rowIds.map((parts) => parts[index])),
    replacements.map(({ before }) => before),
    replacements.map(({ after }) => after),
  ])
}
