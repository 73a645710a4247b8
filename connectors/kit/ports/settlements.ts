// Reads Payweave's settlements of one connector, as an operator: a connector itself may not.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { SettlementKind, SettlementService } from '#gen/payweave/payments/v1/settlement_pb.js'
import { bearerIdentity, type Identity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import type { Settled } from '../domain/reconcile.ts'

const pageSize = 1_000

export type SettlementSource = {
  /** RPC address of payments. */
  url: string
  /** An operator's bearer. */
  token: string
  /** The certificates of the connector, where mutual TLS is required. */
  tls: Identity['tls']
  /** The name of the connector. */
  connector: string
}

/**
 * The settlements of the connector in the time from `from` to before `to`. Rejects with the Failure of the RPC, and when some are
 * still so young that others may come before them.
 */
export async function readSettlements(
  { url, token, tls, connector }: SettlementSource,
  from: Date,
  to: Date,
): Promise<Settled[]> {
  const identity = { ...bearerIdentity(token), ...(tls !== undefined && { tls }) }
  const pool = createRpcPool(url, { audience: 'payments', identity })
  const client = createRpcClient(SettlementService, { url, audience: 'payments', identity, pool })
  const window = { createdFrom: timestampFromDate(from), createdTo: timestampFromDate(to) }
  const found: Settled[] = []
  try {
    for (let pageToken = '', isLast = false; !isLast; ) {
      const page = await client.listSettlements({ pageSize, pageToken, connector, ...window })
      for (const { kind, createTime, ...one } of page.settlements) {
        if (createTime === undefined) throw new Error('a settlement has no time')
        const { settlementId, attemptId, payeeId, reversesId, currency, amountMinor } = one
        const ids = { settlementId, attemptId, payeeId, reversesId }
        const time = timestampDate(createTime)
        found.push({ ...ids, currency, amountMinor, kind: SettlementKind[kind] ?? '', time })
      }
      isLast = page.caughtUp || page.nextPageToken === pageToken
      pageToken = page.nextPageToken
    }
    return found
  } finally {
    await pool.close()
  }
}
