// The services of dead letters and receivers that the console calls.
import type { ServiceImpl } from '@connectrpc/connect'
import type { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Project } from './projects.ts'
import { type Many, time } from './rows.ts'

type Of = {
  projects: { demo: Project }
  of: (projectId: string) => Project
  many: Many
  seen: (rpc: string) => void
}

/** What delivery lists for the staff, and the receivers of a project. `seen` is called with each RPC that reaches a service. */
export function deliveryPeers({ projects, of, many, seen }: Of) {
  const deadLetters: Partial<ServiceImpl<typeof DeadLetterService>> = {
    listDeadLetters({ state, oldestFirst, pageToken, pageSize }) {
      seen('ListDeadLetters')
      const { delivery } = projects.demo
      if (state !== DeliveryState.UNSPECIFIED && state !== delivery.state) return {}
      const deliveries = many(delivery, pageSize)
      const isLast = oldestFirst || pageToken !== ''
      return { deliveries, nextPageToken: isLast ? '' : 'second' }
    },
  }
  const endpoints: Partial<ServiceImpl<typeof EndpointService>> = {
    listEndpoints({ projectId, pageSize }) {
      seen('ListEndpoints')
      const { kind, origin } = of(projectId).delivery
      const lane = { projectId, kind, origin, limitNow: 4, pendingCount: 10_000 }
      const open = { ...lane, breaker: BreakerState.OPEN, openUntilTime: time }
      return { endpoints: many(open, pageSize) }
    },
    listAllEndpoints({ breaker, pageToken, pageSize }) {
      seen('ListAllEndpoints')
      const { projectId, delivery } = projects.demo
      if (breaker === BreakerState.CLOSED) return {}
      const { kind, origin } = delivery
      const lane = { projectId, kind, origin, limitNow: 4, breaker: BreakerState.OPEN }
      const endpoints = many(lane, pageSize)
      return { endpoints, nextPageToken: pageToken === '' ? 'second' : '' }
    },
  }
  return { deadLetters, endpoints }
}
