// Reads Payweave's settlements of one connector, as an operator: a connector itself may not.
import { timestampDate, timestampFromDate } from '@bufbuild/protobuf/wkt'
import {
  type Settlement,
  SettlementKind,
  SettlementService,
} from '#gen/payweave/payments/v1/settlement_pb.js'
import { bearerIdentity, type Identity } from '#platform/rpc/auth/identity.ts'
import { createRpcClient, createRpcPool } from '#platform/rpc/client/client.ts'
import type { Settled, Settlements } from '../domain/reconcile.ts'

const pageSize = 1_000
const maxReferences = 500

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

/** Opens the settlements of the connector. Their reads reject with the Failure of the RPC. */
export function openSettlements({
  url,
  token,
  tls,
  connector,
}: SettlementSource): Settlements & { close(): Promise<void> } {
  const identity = { ...bearerIdentity(token), ...(tls !== undefined && { tls }) }
  const pool = createRpcPool(url, { audience: 'payments', identity })
  const client = createRpcClient(SettlementService, { url, audience: 'payments', identity, pool })
  return {
    async written(from, to) {
      const window = { createdFrom: timestampFromDate(from), createdTo: timestampFromDate(to) }
      const found: Settled[] = []
      for (let pageToken = '', isLast = false; !isLast; ) {
        const page = await client.listSettlements({ pageSize, pageToken, connector, ...window })
        found.push(...page.settlements.map(settledOf))
        isLast = page.caughtUp || page.nextPageToken === pageToken
        pageToken = page.nextPageToken
      }
      return found
    },
    async ofReferences(wanted) {
      const found: Settled[] = []
      for (let start = 0; start < wanted.length; start += maxReferences) {
        const references = wanted.slice(start, start + maxReferences)
        const { settlements } = await client.listSettlements({ references, connector })
        found.push(...settlements.map(settledOf))
      }
      return found
    },
    close: () => pool.close(),
  }
}

function settledOf({ kind, createTime, ...one }: Settlement): Settled {
  if (createTime === undefined) throw new Error('a settlement has no time')
  const { settlementId, attemptId, payeeId, reversesId, currency, amountMinor } = one
  const ids = { settlementId, attemptId, payeeId, reversesId }
  const time = timestampDate(createTime)
  return { ...ids, currency, amountMinor, kind: SettlementKind[kind] ?? '', time }
}
