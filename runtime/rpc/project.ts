// Which project a call acts for; it must not look the project up.

import { Code, ConnectError, type HandlerContext } from '@connectrpc/connect'
import { Failure } from '#core/errors.ts'
import { type CallContext, currentContext } from './context.ts'
import { servedCallKey } from './served-call.ts'

/**
 * The project of a call: the one that its request names, which must be the one of its token when the token
 * names one. PERMISSION_DENIED when they differ, MISSING_PARAMETER when neither names any.
 */
export function projectOf(
  context: HandlerContext | CallContext | undefined,
  requested: string,
): string {
  const call =
    context !== undefined && 'values' in context ? context.values.get(servedCallKey) : context
  const granted = (call ?? currentContext())?.caller?.projectId
  if (granted !== undefined && requested !== '' && granted !== requested) {
    throw new ConnectError('the credential is for another project', Code.PermissionDenied)
  }
  const projectId = requested === '' ? granted : requested
  if (projectId === undefined) {
    throw new Failure('MISSING_PARAMETER', 'project_id is required', {
      details: { field: 'project_id' },
    })
  }
  return projectId
}
