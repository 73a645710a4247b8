// Puts the UUIDs of requests into lower case, the form that PostgreSQL returns: services compare ids as text.
import { type DescField, type DescMessage, getOption, type Message } from '@bufbuild/protobuf'
import {
  type FieldRules,
  field as rulesOf,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'

/** Puts every field of a message whose rule is `string.uuid`, also in the messages that it holds, into lower case. */
export type LowerIds = (message: Message) => void

/** Makes the change for a type; undefined when it has no such field. Throws an Error for ids in a map, which no contract has. */
export function idLowering(type: DescMessage): LowerIds | undefined {
  return loweringOf(type, new Map())
}

type Plain = Record<string, unknown>
type Step = (holder: Plain) => void

function loweringOf(
  type: DescMessage,
  known: Map<DescMessage, LowerIds | undefined>,
): LowerIds | undefined {
  // A type that is inside itself is not searched again: no request of ours has one.
  if (known.has(type)) return known.get(type)
  known.set(type, undefined)
  const steps = type.fields.flatMap((field) => {
    const inner = field.message === undefined ? undefined : loweringOf(field.message, known)
    if (inner !== undefined) return [within(field, (value) => (inner(value as Message), value))]
    return isId(field) ? [within(field, lowered)] : []
  })
  const lowering =
    steps.length === 0
      ? undefined
      : (message: Message) => {
          for (const step of steps) step(message)
        }
  known.set(type, lowering)
  return lowering
}

type Change = (value: unknown) => unknown

const lowered: Change = (value) => (value as string).toLowerCase()

/** Changes each value of a field that is there. */
function within({ localName, oneof, fieldKind, parent }: DescField, change: Change): Step {
  if (fieldKind === 'map') throw new Error(`a map cannot hold ids: ${parent.typeName}.${localName}`)
  if (fieldKind === 'list') {
    return (holder) => {
      const items = holder[localName] as unknown[]
      for (const [index, item] of items.entries()) items[index] = change(item)
    }
  }
  if (oneof !== undefined) {
    return (holder) => {
      const choice = holder[oneof.localName] as { case: string | undefined; value?: unknown }
      if (choice.case === localName) choice.value = change(choice.value)
    }
  }
  return (holder) => {
    const value = holder[localName]
    if (value !== undefined) holder[localName] = change(value)
  }
}

function isId(field: DescField): boolean {
  const { type } = getOption(field, rulesOf)
  return isUuidRule(type.case === 'repeated' ? type.value.items?.type : type)
}

function isUuidRule(type: FieldRules['type'] | undefined): boolean {
  return type?.case === 'string' && type.value.wellKnown.case === 'uuid'
}
