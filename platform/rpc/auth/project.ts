// Which project a call acts for.

import type { DescField, DescMessage, DescMethod, Message } from '@bufbuild/protobuf'
import type { HandlerContext } from '@connectrpc/connect'
import { Failure } from '#core/errors/errors.ts'
import { type CallContext, currentContext } from '../context.ts'
import { servedCallKey } from '../server/served-call.ts'

/**
 * The project of a call: the one that its request names, which must be the token's when the token names one. Throws
 * PERMISSION_DENIED when they differ, MISSING_PARAMETER when neither names any.
 */
export function projectOf(
  context: HandlerContext | CallContext | undefined,
  requested: string,
): string {
  const call =
    context !== undefined && 'values' in context ? context.values.get(servedCallKey) : context
  const granted = (call ?? currentContext())?.caller?.projectId
  if (granted !== undefined && requested !== '' && granted !== requested) {
    throw new Failure('PERMISSION_DENIED', 'the credential is for another project')
  }
  const projectId = requested === '' ? granted : requested
  if (projectId === undefined) {
    throw new Failure('MISSING_PARAMETER', 'project_id is required', {
      details: { field: 'project_id' },
    })
  }
  return projectId
}

const projectField = 'project_id'

/**
 * Whether the request of a method names its project in one field of its own, and nowhere else. Only such a method can
 * be called by a bearer or a person that is bound to a project.
 */
export function namesOneProject({ input, methodKind }: DescMethod): boolean {
  const isOneMessage = methodKind === 'unary' || methodKind === 'server_streaming'
  const own = input.fields.filter(isProjectField)
  return isOneMessage && own.length === 1 && projectFieldsIn(input, new Set()) === 1
}

function isProjectField(field: DescField): boolean {
  return field.name === projectField && field.fieldKind === 'scalar' && field.oneof === undefined
}

/** Fields that name a project, in a message and all that it may hold; `float_project_id` is one too. */
function projectFieldsIn(message: DescMessage, seen: Set<DescMessage>): number {
  if (seen.has(message)) return 0
  seen.add(message)
  return message.fields
    .map((field) => {
      const inner = field.message === undefined ? 0 : projectFieldsIn(field.message, seen)
      return inner + (field.name.endsWith(projectField) ? 1 : 0)
    })
    .reduce((sum, count) => sum + count, 0)
}

/**
 * Makes the check of a method's messages against the project of a bearer or person that is bound to one. The check throws
 * PERMISSION_DENIED for another project and for a call without a caller, and fills in the project of a message that
 * names none. Undefined for a method that no such caller may call.
 */
export function bindToProject(method: DescMethod): ((message: Message) => void) | undefined {
  if (!namesOneProject(method)) return undefined
  const field = method.input.fields.find(isProjectField)
  const name = field?.localName ?? ''
  return (message) => {
    const call = currentContext()
    if (call?.caller === undefined) {
      throw new Failure('PERMISSION_DENIED', 'the call has no caller')
    }
    const { kind, person, projectId } = call.caller
    if (projectId === undefined || (kind !== 'bearer' && person === undefined)) return
    const named = message as unknown as Record<string, string | undefined>
    named[name] = projectOf(call, named[name] ?? '')
  }
}
