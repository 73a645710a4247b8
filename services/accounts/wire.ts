// What the handlers of AccessService share: environments, projects and who asks, on the wire. It must not hold a rule.
import { missing } from '#core/errors.ts'
import { Environment as WireEnvironment } from '#gen/accounts/v1/access_pb.js'
import { currentContext } from '#runtime/rpc/context.ts'
import { type Environment, type Project } from './access.ts'
import type { Actor } from './change.ts'

/** Environments as their numbers. */
export const wireEnvironment = {
  sandbox: WireEnvironment.SANDBOX,
  production: WireEnvironment.PRODUCTION,
} as const satisfies Record<Environment, WireEnvironment>

/** An environment by its number; undefined when none is named. */
export function knownEnvironment(wire: WireEnvironment): Environment | undefined {
  if (wire === WireEnvironment.SANDBOX) return 'sandbox'
  return wire === WireEnvironment.PRODUCTION ? 'production' : undefined
}

/** An environment by its number; MISSING_PARAMETER when none is named. */
export function environmentOf(wire: WireEnvironment): Environment {
  const environment = knownEnvironment(wire)
  if (environment !== undefined) return environment
  throw missing('environment')
}

/** A project as a message. */
export function wireProject({ environment, ...project }: Project) {
  return { ...project, environment: wireEnvironment[environment] }
}

/** Who asks, for the audit; `onceId` is the request's own id, empty for none. */
export function actor(onceId = ''): Actor {
  const context = currentContext()
  return {
    caller: context?.caller?.name ?? 'unknown',
    requestId: context?.requestId,
    onceId: onceId === '' ? undefined : onceId,
  }
}
