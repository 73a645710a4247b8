// Cursors of lists: page tokens of services, signed, so that only those that we issued for a list and its filters pass.

import { digestsEqual, hashKey } from '#core/identity/digest.ts'
import type { KeySource } from '#core/identity/key-ring.ts'
import { invalidField } from './validate.ts'

/** The list that a cursor belongs to. */
export type ListScope = {
  /** Method and path of the route. */
  route: string
  projectId: string
  merchantId: string
  /** The filters as they were understood; not the size of a page, which may change from page to page. */
  filters: readonly (string | number | undefined)[]
}

const signatureBytes = 16

/** The cursor of a page token; null on the last page, whose token is empty. */
export function cursorOf(keys: KeySource, scope: ListScope, pageToken: string): string | null {
  if (pageToken === '') return null
  const signature = signatureOf(keys().current.key, scope, pageToken)
  return Buffer.concat([signature, Buffer.from(pageToken)]).toString('base64url')
}

/**
 * The page token in a cursor; empty for no cursor. Throws INVALID_PARAMETER unless we issued it for the same list with the
 * same filters.
 */
export function pageTokenIn(keys: KeySource, scope: ListScope, cursor: string | undefined): string {
  if (cursor === undefined) return ''
  const bytes = Buffer.from(cursor, 'base64url')
  const signature = bytes.subarray(0, signatureBytes)
  const pageToken = bytes.subarray(signatureBytes).toString()
  const isOurs = keys().keys.some(({ key }) =>
    digestsEqual(signature, signatureOf(key, scope, pageToken)),
  )
  if (isOurs && bytes.toString('base64url') === cursor) return pageToken
  throw invalidField('cursor', 'must be the next_cursor of the page before, with the same filters')
}

function signatureOf(key: Buffer, scope: ListScope, pageToken: string): Buffer {
  const { route, projectId, merchantId, filters } = scope
  const text = JSON.stringify(['cursor', route, projectId, merchantId, filters, pageToken])
  return hashKey(key, text).subarray(0, signatureBytes)
}
