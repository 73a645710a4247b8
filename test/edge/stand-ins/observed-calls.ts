// Records the deadline of every call to a stand-in, and holds calls up on request. It asserts nothing.
import type { DescService } from '@bufbuild/protobuf'
import type { HandlerContext, ServiceImpl } from '@connectrpc/connect'

/** The calls that came, and what they wait for. */
export type ObservedCalls = {
  seen: Array<{ method: string; leftMs: number | undefined }>
  /** Runs before each call is answered. */
  before: () => Promise<void>
}

/** No calls yet; they wait for nothing. */
export function newObservedCalls(): ObservedCalls {
  return { seen: [], before: async () => {} }
}

type Method = (request: unknown, context: HandlerContext) => unknown

/** Makes stand-ins whose calls are observed. */
export function observer(calls: ObservedCalls) {
  return <S extends DescService>(
    service: S,
    standIn: Partial<ServiceImpl<S>>,
  ): Partial<ServiceImpl<S>> => {
    const observed = Object.entries(standIn).map(([name, answer]) => {
      const observe: Method = async (request, context) => {
        calls.seen.push({ method: `${service.name}.${name}`, leftMs: context.timeoutMs() })
        await calls.before()
        return (answer as Method)(request, context)
      }
      return [name, observe]
    })
    return Object.fromEntries(observed) as Partial<ServiceImpl<S>>
  }
}
