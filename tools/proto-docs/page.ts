// Writes a package of contracts as a page: services with who may call what, messages with their rules, enums; it must not read or write files.
import {
  type DescEnum,
  type DescField,
  type DescFile,
  type DescMessage,
  type DescMethod,
  type DescService,
  ScalarType,
} from '@bufbuild/protobuf'
import { MethodOptions_IdempotencyLevel as Level } from '@bufbuild/protobuf/wkt'
import { anyKnownCaller, callers, permissionOf } from '#platform/rpc/auth/callers.ts'
import { commentOf, type Described } from './comment.ts'
import { isRequired, rulesOf } from './rules.ts'

const protobufDocs = 'https://protobuf.dev/reference/protobuf/google.protobuf/'

const repeats: Record<Level, string> = {
  [Level.IDEMPOTENCY_UNKNOWN]: 'Not to be repeated by itself.',
  [Level.NO_SIDE_EFFECTS]: 'Reads only: may be repeated.',
  [Level.IDEMPOTENT]: 'May be repeated: the same call twice does what one does.',
}

/** The list of all packages. */
export function renderIndex(packages: ReadonlyMap<string, readonly DescFile[]>): string {
  const rows = [...packages]
    .toSorted(([one], [other]) => one.localeCompare(other))
    .flatMap(([name, files]) => rowsOf(name, files))
  return [
    '# Reference of the RPCs',
    'Made from the comments of the contracts in [`proto/`](../../proto) by `npm run generate`. How to call the services, with which credential, deadline and ids: [grpc/README.md](../grpc/README.md).',
    table(['Package', 'Service', 'What it is for'], rows),
  ]
    .join('\n\n')
    .concat('\n')
}

function rowsOf(name: string, files: readonly DescFile[]): string[][] {
  const link = `[${name}](${name}.md)`
  const services = files.flatMap((file) => file.services)
  if (services.length === 0) return [[link, '', files.map(words).join(' ')]]
  return services.map((service) => [
    link,
    `[${service.name}](${name}.md#${anchor(service.name)})`,
    words(service),
  ])
}

/** The page of one package. */
export function renderPackage(name: string, files: readonly DescFile[]): string {
  const services = files.flatMap((file) => file.services)
  const messages = files.flatMap((file) => file.messages.flatMap(withNested))
  const enums = files.flatMap((file) => [
    ...file.enums,
    ...file.messages.flatMap(withNested).flatMap((message) => message.nestedEnums),
  ])
  const sections = [
    `# ${name}`,
    table(
      ['File', 'What it is'],
      files.map((file) => [fileLink(file), words(file)]),
    ),
    ...(services.length > 0 ? ['## Services', ...services.flatMap(renderService)] : []),
    ...(messages.length > 0 ? ['## Messages', ...messages.flatMap(renderMessage)] : []),
    ...(enums.length > 0 ? ['## Enums', ...enums.flatMap(renderEnum)] : []),
  ]
  return `${sections.join('\n\n')}\n`
}

function renderService(service: DescService): string[] {
  return [`### ${service.name}`, words(service), ...service.methods.flatMap(renderMethod)]
}

function renderMethod(method: DescMethod): string[] {
  const { parent, name, input, output, methodKind, idempotency } = method
  const takes = `${methodKind === 'client_streaming' ? 'stream of ' : ''}${typeLink(input, parent.file)}`
  const gives = `${methodKind === 'server_streaming' ? 'stream of ' : ''}${typeLink(output, parent.file)}`
  return [
    `#### ${parent.name}/${name}`,
    `${takes} → ${gives}`,
    words(method),
    [`- ${repeats[idempotency]}`, `- Callers: ${callersOf(method)}`].join('\n'),
  ]
}

const knownCallers = new Set(Object.values(callers).flat())

/** Asks the very table by which services decide. */
function callersOf(method: DescMethod): string {
  const permits = permissionOf(method)
  const services = [...knownCallers].filter((name) => permits({ kind: 'service', name }))
  const names = services.filter((name) => name !== anyKnownCaller).map((name) => `\`${name}\``)
  const isForBearers = permits({ kind: 'bearer', name: 'any', rpcs: ['*'] })
  const teams = 'internal teams whose bearer names it'
  return `${[...names.toSorted(), ...(isForBearers ? [teams] : [])].join(', ')}.`
}

function renderMessage(message: DescMessage): string[] {
  const rows = message.fields.map((field) => [
    String(field.number),
    `\`${field.name}\``,
    typeOf(field),
    [choiceOf(field), words(field), shownRules(field)].filter((part) => part !== '').join(' '),
  ])
  return [
    `### ${nameOf(message)}`,
    words(message),
    rows.length === 0 ? 'No fields.' : table(['#', 'Field', 'Type', 'Meaning'], rows),
  ]
}

function choiceOf({ oneof }: DescField): string {
  if (oneof === undefined) return ''
  const notes = [withoutStop(words(oneof)), ...(isRequired(oneof) ? ['required'] : [])]
  return `One of \`${oneof.name}\` (${notes.join('; ')}):`
}

function shownRules(field: DescField): string {
  const rules = rulesOf(field)
  return rules === '' ? '' : `_${forCell(rules)}_`
}

function renderEnum(type: DescEnum): string[] {
  const rows = type.values.map((value) => [String(value.number), `\`${value.name}\``, words(value)])
  return [`### ${nameOf(type)}`, words(type), table(['#', 'Value', 'Meaning'], rows)]
}

function typeOf(field: DescField): string {
  const { file } = field.parent
  switch (field.fieldKind) {
    case 'scalar':
      return `${field.proto.proto3Optional ? 'optional ' : ''}${scalar(field.scalar)}`
    case 'message':
      return typeLink(field.message, file)
    case 'enum':
      return typeLink(field.enum, file)
    case 'list':
      return `list of ${elementOf(field, file)}`
    default:
      return `map of ${scalar(field.mapKey)} to ${elementOf(field, file)}`
  }
}

type Holder = DescField & { fieldKind: 'list' | 'map' }

function elementOf({ message, enum: type, scalar: kind }: Holder, from: DescFile): string {
  const named = message ?? type
  if (named !== undefined) return typeLink(named, from)
  return kind === undefined ? '' : scalar(kind)
}

function scalar(type: ScalarType): string {
  return ScalarType[type].toLowerCase()
}

function typeLink(type: DescMessage | DescEnum, from: DescFile): string {
  const { package: home } = type.file.proto
  const name = nameOf(type)
  if (home === 'google.protobuf') return `[${name}](${protobufDocs}#${anchor(name)})`
  const isHere = home === from.proto.package
  return `[${isHere ? name : type.typeName}](${isHere ? '' : `${home}.md`}#${anchor(name)})`
}

function fileLink({ proto }: DescFile): string {
  return `[\`${proto.name.split('/').at(-1)}\`](../../proto/${proto.name})`
}

function withNested(message: DescMessage): DescMessage[] {
  // What a map is made of is no message that anybody writes.
  const nested = message.nestedMessages.filter(({ proto }) => proto.options?.mapEntry !== true)
  return [message, ...nested.flatMap(withNested)]
}

/** The name inside its package, for example `SeenResponse.Known`. */
function nameOf({ typeName, file }: DescMessage | DescEnum): string {
  return typeName.slice(file.proto.package.length + 1)
}

/** The anchor that GitHub gives to a heading. */
function anchor(heading: string): string {
  return heading.toLowerCase().replaceAll(/[^\w-]/g, '')
}

/** A comment that stands in Markdown, and in a cell of a table. */
function words(element: Described): string {
  return forCell(commentOf(element))
}

function forCell(text: string): string {
  return text.replaceAll(/[<|*]/g, String.raw`\$&`)
}

function withoutStop(sentence: string): string {
  return sentence.replace(/\.$/, '')
}

function table(head: string[], rows: string[][]): string {
  const lines = [head, head.map(() => '---'), ...rows]
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}
