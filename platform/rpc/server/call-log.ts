// Writes one log line and one metric observation for each call that was answered.

import { Code, ConnectError } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import type { Logger } from '#platform/telemetry/log.ts'
import { endRpcServerSpan } from '#platform/telemetry/spans.ts'
import {
  callerGone,
  internalConnectError,
  statusName,
  toConnectError,
  withReason,
} from '../errors.ts'
import type { ServedCall } from './served-call.ts'

/** Counts and times calls by method (`pkg.Service/Method`) and gRPC status name. */
export interface RpcMetrics {
  /** Records one answered call; `durationMs` runs from its headers to its answer. */
  observe(method: string, code: string, durationMs: number): void
}

/** Where answered calls are written down. */
export interface CallLog {
  /** Notes that the call ended well; later notes of the same call are ignored. */
  answered(call: ServedCall): void
  /**
   * Notes that the call failed, and returns (does not throw) the error that its caller is to see: a bug becomes
   * INTERNAL_ERROR.
   */
  failed(call: ServedCall, thrown: unknown): ConnectError
}

/** Makes the log of calls of one server. */
export function createCallLog(log: Logger, metrics: RpcMetrics | undefined): CallLog {
  function write(call: ServedCall, code: string, level: 'debug' | 'info', reason?: string): void {
    const durationMs = performance.now() - call.startedMs
    metrics?.observe(call.rpc.name, code, durationMs)
    endRpcServerSpan(call.span, code)
    log[level]({ ...factsOf(call), code, reason, durationMs: round(durationMs) }, 'rpc answered')
  }
  return {
    answered(call) {
      if (call.end()) write(call, 'ok', 'debug')
    },
    failed(call, thrown) {
      const first = call.end()
      if (thrown instanceof Failure) {
        const error = toConnectError(thrown)
        if (first) write(call, statusName(error.code), 'info', thrown.reason)
        return error
      }
      const error = expectedError(thrown)
      if (error !== undefined) {
        if (first) write(call, statusName(error.code), 'info')
        return error
      }
      if (first) {
        const durationMs = performance.now() - call.startedMs
        metrics?.observe(call.rpc.name, statusName(Code.Internal), durationMs)
        endRpcServerSpan(call.span, statusName(Code.Internal))
        log.error(
          {
            ...factsOf(call),
            code: statusName(Code.Internal),
            durationMs: round(durationMs),
            err: thrown,
          },
          'rpc failed unexpectedly',
        )
      }
      return internalConnectError(thrown)
    },
  }
}

function factsOf({ rpc, requestId, caller }: ServedCall) {
  return { rpc: rpc.name, requestId, caller: caller?.name }
}

function round(durationMs: number): number {
  return Math.round(durationMs * 10) / 10
}

// Connect's own refusals say what they mean; an abort is a disconnected caller.
function expectedError(thrown: unknown): ConnectError | undefined {
  if (thrown instanceof ConnectError) {
    return thrown.code === Code.Internal || thrown.code === Code.Unknown
      ? undefined
      : withReason(thrown)
  }
  if (thrown instanceof Error && thrown.name === 'AbortError') {
    return toConnectError(callerGone(thrown))
  }
  return undefined
}
