// Moves the business time of one service's database as its ClockService does.
import { createClient, createRouterTransport } from '@connectrpc/connect'
import { ClockService } from '#gen/payweave/clock/v1/clock_pb.js'
import { type ClockOptions, clockService } from '../clock/clock-service.ts'

/** A client of the test clock of a database. */
export function businessTime(options: Omit<ClockOptions, 'isMovable'>) {
  const service = clockService({ isMovable: true, ...options })
  return createClient(
    ClockService,
    createRouterTransport((router) => router.service(ClockService, service)),
  )
}
