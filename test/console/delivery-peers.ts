// The services of dead letters and receivers that the console calls.
import { randomUUID } from 'node:crypto'
import type { ServiceImpl } from '@connectrpc/connect'
import type { DeadLetterService } from '#gen/payweave/delivery/v1/dead_letter_pb.js'
import { DeliveryState } from '#gen/payweave/delivery/v1/delivery_pb.js'
import { BreakerState, type EndpointService } from '#gen/payweave/delivery/v1/endpoint_pb.js'
import type { Project } from './projects.ts'
import { type Many, type Texts, time } from './rows.ts'

type Of = {
  projects: { demo: Project }
  of: (projectId: string) => Project
  many: Many
  seen: (rpc: string) => void
  texts: Texts
}

/** What delivery lists for the staff, and the receivers of a project. `seen` is called with each RPC that reaches a service. */
export function deliveryPeers({ projects, of, many, seen, texts }: Of) {
  const laneId = randomUUID()
  /** Whether receivers and their pauses are answered without regard to the filter, as by a replica of the previous release. */
  const lanes = { ignoresFilters: false }
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
    listEndpoints({ projectId, pageSize, onlyPaused, breaker }) {
      seen('ListEndpoints')
      if (breaker === BreakerState.HALF_OPEN && !lanes.ignoresFilters) return {}
      const { kind, origin } = of(projectId).delivery
      const closed = { endpointId: laneId, projectId, kind, origin, breaker: BreakerState.CLOSED }
      if (lanes.ignoresFilters)
        return { endpoints: many(closed, pageSize), nextPageToken: 'second' }
      const lane = {
        endpointId: laneId,
        projectId,
        kind,
        origin,
        limitNow: 4,
        pendingCount: 10_000,
      }
      const open = { ...lane, breaker: BreakerState.OPEN, openUntilTime: time }
      const paused = { ...lane, pauseTime: time }
      return { endpoints: onlyPaused ? [paused] : [paused, ...many(open, pageSize - 1)] }
    },
    listAllEndpoints({ breaker, pageToken, pageSize, onlyPaused }) {
      seen('ListAllEndpoints')
      const { projectId, delivery } = projects.demo
      if (breaker === BreakerState.CLOSED) return {}
      const { kind, origin } = delivery
      const lane = { endpointId: laneId, projectId, kind, origin, limitNow: 4 }
      const paused = { ...lane, pauseTime: time }
      if (onlyPaused) return { endpoints: [paused] }
      const open = { ...lane, breaker: BreakerState.OPEN }
      const endpoints = [paused, ...many(open, pageSize - 1)]
      return { endpoints, nextPageToken: pageToken === '' ? 'second' : '' }
    },
    pauseEndpoint({ projectId }) {
      seen('PauseEndpoint')
      return of(projectId) && {}
    },
    resumeEndpoint({ projectId }) {
      seen('ResumeEndpoint')
      return of(projectId) && {}
    },
    listEndpointChanges({ projectId, kind: wanted, pageSize, pageToken }) {
      seen('ListEndpointChanges')
      const { kind, origin } = of(projectId).delivery
      if ((wanted || kind) !== kind && !lanes.ignoresFilters) return {}
      const change = { changeTime: time, endpointId: laneId, origin, kind, isPaused: true }
      const changes = many({ ...change, note: texts.note, caller: texts.person }, pageSize)
      return { changes, nextPageToken: pageToken === '' ? 'second' : '' }
    },
  }
  return { deadLetters, endpoints, lanes }
}
