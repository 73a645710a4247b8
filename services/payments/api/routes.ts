// Maps payweave.payments.v1.RoutingService to the domain and back.
import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ServiceImpl } from '@connectrpc/connect'
import { missing } from '#core/errors/errors.ts'
import { numberOf, paymentChannels, paymentMethods, wordOf } from '#core/payment/words.ts'
import {
  type RouteKeySchema,
  type RoutingService,
  type RouteKey as WireRouteKey,
  RouteKind as WireRouteKind,
} from '#gen/payweave/payments/v1/routes_pb.js'
import { auditName, currentContext } from '#platform/rpc/context.ts'
import { type RouteKey, type RouteKind, sortRoutes } from '../domain/routing.ts'
import { type Actor, type RouteContext, removeRoute, setRoute } from '../operations/routes.ts'
import { listRouteChanges, readRoutes } from '../store/route-store.ts'
import { timestampOf } from './messages.ts'

const maxChanges = 200

const kinds: Record<RouteKind, WireRouteKind> = {
  charge: WireRouteKind.CHARGE,
  payout: WireRouteKind.PAYOUT,
}

/**
 * The handlers of RoutingService. They refuse bad keys with INVALID_PARAMETER or MISSING_PARAMETER, `putRoute` also unknown
 * connectors and one route too many with INVALID_PARAMETER, `deleteRoute` an unknown route with ROUTE_NOT_FOUND. All reject
 * as a Queryable does.
 */
export function routingService(context: RouteContext): ServiceImpl<typeof RoutingService> {
  const { db, connectors } = context
  return {
    async listRoutes() {
      const list = await readRoutes(db, undefined)
      return {
        routes: sortRoutes(list?.routes ?? []).map((route) => ({
          key: keyMessage(route),
          connector: route.connector,
          fallbackConnector: route.fallback ?? '',
          changedBy: route.changedBy,
          updateTime: timestampOf(route.updateTime),
        })),
        connectors: [...connectors.names],
        defaultConnector: connectors.defaultName,
      }
    },
    async putRoute({ key, connector, fallbackConnector }) {
      const fallback = fallbackConnector || undefined
      await setRoute(context, actor(), { ...keyOf(key), connector, fallback })
      return {}
    },
    async deleteRoute({ key }) {
      await removeRoute(context, actor(), keyOf(key))
      return {}
    },
    async listRouteChanges() {
      const changes = await listRouteChanges(db, maxChanges)
      return {
        changes: changes.map(({ changeTime, caller, requestId, connector, fallback, ...key }) => ({
          changeTime: timestampOf(changeTime),
          caller,
          requestId: requestId ?? '',
          key: keyMessage(key),
          connector: connector ?? '',
          fallbackConnector: fallback ?? '',
        })),
      }
    },
  }
}

function actor(): Actor {
  const context = currentContext()
  return { caller: auditName(context?.caller), requestId: context?.requestId }
}

function keyOf(key: WireRouteKey | undefined): RouteKey {
  if (key === undefined) throw missing('key')
  const kind = (Object.keys(kinds) as RouteKind[]).find((one) => kinds[one] === key.kind)
  if (kind === undefined) throw missing('key.kind')
  return {
    kind,
    projectId: key.projectId.toLowerCase(),
    currency: key.currency,
    channel: wordOf(paymentChannels, key.channel) ?? '',
    method: wordOf(paymentMethods, key.method) ?? '',
  }
}

function keyMessage(key: RouteKey): MessageInitShape<typeof RouteKeySchema> {
  const { kind, projectId, currency, channel, method } = key
  return {
    kind: kinds[kind],
    projectId,
    currency,
    channel: channel === '' ? 0 : numberOf(paymentChannels, channel),
    method: method === '' ? 0 : numberOf(paymentMethods, method),
  }
}
