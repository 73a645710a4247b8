// Maps what the handlers of AccessService share: environments, projects and the operator.
import { missing } from '#core/errors/errors.ts'
import { Environment as WireEnvironment } from '#gen/payweave/accounts/v1/access_pb.js'
import { type Environment, type Project } from '../domain/access.ts'

/** Environments as their numbers. */
export const wireEnvironment = {
  sandbox: WireEnvironment.SANDBOX,
  production: WireEnvironment.PRODUCTION,
} as const satisfies Record<Environment, WireEnvironment>

/** The environment of an enum number; undefined for UNSPECIFIED and unknown numbers. */
export function knownEnvironment(wire: WireEnvironment): Environment | undefined {
  if (wire === WireEnvironment.SANDBOX) return 'sandbox'
  return wire === WireEnvironment.PRODUCTION ? 'production' : undefined
}

/** The environment of an enum number. Throws MISSING_PARAMETER for UNSPECIFIED and unknown numbers. */
export function environmentOf(wire: WireEnvironment): Environment {
  const environment = knownEnvironment(wire)
  if (environment !== undefined) return environment
  throw missing('environment')
}

/** A project as a message. */
export function wireProject({ environment, ...project }: Project) {
  return { ...project, environment: wireEnvironment[environment] }
}
