// Makes commands that list or show what a service has: how they connect, page and print. It knows no RPC.
import { type DescMessage, type MessageShape, toJson } from '@bufbuild/protobuf'
import { type Timestamp, timestampFromDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { parseDateTime } from '#core/text/time.ts'
import { type Money } from '#gen/payweave/types/v1/types_pb.js'
import { oneOperand } from '../access.ts'
import { hasMerchantKeys, merchantKeyOptions } from '../api/merchant.ts'
import { type Command, type CommandContext, optionsFor } from '../command.ts'
import { type Connection, connect } from '../connection.ts'
import { jsonLine, printable } from '../output/print.ts'
import { type ListShape, pagesOf, printList } from '../output/table.ts'
import { wholeNumber } from '../parser/whole-number.ts'
import { UsageError } from '../usage-error.ts'

/** What a command reads with. */
export type Reader = {
  connection: Connection
  /** UUID of the project that is meant. */
  projectId: string
  /** Values of the command's options. */
  options: CommandContext['options']
}

/** A page to read. */
export type Page = { pageSize: number; pageToken: string }

type Shared<S extends DescMessage> = {
  /** As it is typed, two words. */
  name: string
  summary: string
  part: Parameters<typeof optionsFor>[0]
  /** Whether it is about one project. */
  isOfProject: boolean
  /** Its own options. */
  options?: Record<string, string>
  /** A call as it is typed after `payweave`, for the help. */
  example?: string
  schema: S
  /** How it works with the keys of a merchant, where the public API has it. */
  withMerchantKeys?: { options: Record<string, string>; run: Command['run'] }
}

/** A command that lists. */
export type ListSpec<S extends DescMessage> = Shared<S> & {
  headings: readonly string[]
  /** An item's texts, one for each heading. */
  cells(item: MessageShape<S>): readonly string[]
  /** What a person reads when there is nothing. */
  none: string
  /** The id of an item, where the option `--id` lists the item of one id alone. */
  idOf?(item: MessageShape<S>): string
  /** Reads a page. */
  read(reader: Reader, page: Page): Promise<{ items: MessageShape<S>[]; nextPageToken: string }>
}

/** Options of lists by the time of creation, named as those of a merchant's lists. */
export const createdOptions = {
  'created-from': 'created at this time or later, "YYYY-MM-DD HH:mm:ss" in UTC',
  'created-to': 'created before this time',
} as const

/** The times of `createdOptions` as an RPC takes them; unset without them. Throws a UsageError for any other form. */
export function createdTimes({ options }: Pick<Reader, 'options'>): {
  startTime?: Timestamp
  endTime?: Timestamp
} {
  const startTime = timeOf(options, 'created-from')
  const endTime = timeOf(options, 'created-to')
  return { ...(startTime && { startTime }), ...(endTime && { endTime }) }
}

function timeOf(options: Reader['options'], name: keyof typeof createdOptions) {
  const text = options[name]
  if (text === undefined) return undefined
  const date = parseDateTime(text)
  if (date === undefined) throw new UsageError(`--${name} must be like "2026-12-01 09:30:00"`)
  return timestampFromDate(date)
}

const projectOption = { project: 'UUID, or a name in sandbox.json (demo)' } as const

/** Makes a command that prints a list in columns, or as JSON, up to `--limit`. */
export function listCommand<S extends DescMessage>(spec: ListSpec<S>): Command {
  const { name, summary, headings, cells, none, schema, idOf = () => '' } = spec
  const shape: ListShape<MessageShape<S>> = {
    headings,
    cells: (item) => cells(item).map(printable),
    json: (item) => jsonLine(schema, item),
    none,
  }
  return {
    name,
    operands: '',
    summary,
    options: { ...optionsOf(spec), limit: 'maximum number (50)' },
    ...exampleOf(spec),
    run: byEither(spec, (context) =>
      withReader(spec, context, async (reader) => {
        const limit = wholeNumber(context.options['limit'] ?? '50', 'limit', 1_000_000)
        const pages = pagesOf(limit, async (pageSize, pageToken) => {
          const page = await spec.read(reader, { pageSize, pageToken })
          return { ...page, items: page.items.filter(isOfId(context, idOf)) }
        })
        await printList(context, shape, pages)
      }),
    ),
  }
}

/** Whether an item is the one of `--id`, or there is none: a server of the previous release, without the filter, answers with others, which a script would decide. */
export function isOfId<T>(
  { options }: Pick<CommandContext, 'options'>,
  idOf: (item: T) => string,
): (item: T) => boolean {
  const id = options['id']?.toLowerCase()
  return (item) => id === undefined || idOf(item) === id
}

/** Works with the keys of a merchant where they were given and the public API can, else with a bearer. */
function byEither({ withMerchantKeys }: Shared<DescMessage>, run: Command['run']): Command['run'] {
  if (withMerchantKeys === undefined) return run
  return (context) => {
    if (hasMerchantKeys(context)) return withMerchantKeys.run(context)
    const wrong = Object.keys(withMerchantKeys.options).find(
      (name) => context.options[name] !== undefined,
    )
    if (wrong !== undefined) throw new UsageError(`--${wrong} needs the keys of a merchant`)
    return run(context)
  }
}

function exampleOf({ example }: Shared<DescMessage>): { example?: string } {
  return example === undefined ? {} : { example }
}

/** A command that shows one thing, which its only operand names. */
export type ShowSpec<S extends DescMessage> = Shared<S> & {
  /** What the operand is, for example `account id`. */
  operand: string
  /** Reads it; undefined when the answer is empty. Rejects as the client does. */
  read(reader: Reader, id: string): Promise<MessageShape<S> | undefined>
}

/**
 * Makes a command that prints one thing: each field on a line, or JSON. It rejects with what `read` throws, and with an Error for an
 * empty answer.
 */
export function showCommand<S extends DescMessage>(spec: ShowSpec<S>): Command {
  const { name, summary, operand, schema } = spec
  return {
    name,
    operands: `<${operand}>`,
    summary,
    options: optionsOf(spec),
    ...exampleOf(spec),
    run: byEither(spec, (context) => {
      const id = oneOperand(context, operand)
      return withReader(spec, context, async (reader) => {
        const found = await spec.read(reader, id)
        if (found === undefined) throw new Error('the answer is empty')
        if (context.json) context.print(jsonLine(schema, found))
        else for (const line of messageLines(schema, found)) context.print(line)
      })
    }),
  }
}

function optionsOf({
  part,
  isOfProject,
  options,
  withMerchantKeys,
}: Shared<DescMessage>): Record<string, string> {
  return {
    ...(isOfProject ? projectOption : {}),
    ...optionsFor(part),
    ...options,
    ...(withMerchantKeys && { ...merchantKeyOptions, ...withMerchantKeys.options }),
  }
}

async function withReader(
  { part, isOfProject }: Shared<DescMessage>,
  { options, env }: CommandContext,
  work: (reader: Reader) => Promise<void>,
): Promise<void> {
  const connection = connect(options, env, part)
  try {
    const projectId = isOfProject ? await connection.projectId() : ''
    await work({ connection, projectId, options })
  } finally {
    await connection.close()
  }
}

function messageLines<S extends DescMessage>(schema: S, message: MessageShape<S>): string[] {
  return factLines(toJson(schema, message, { useProtoFieldName: true }))
}

/** The fields of a JSON object, one a line: `amount.currency  USD`. */
export function factLines(value: unknown): string[] {
  const facts = [...factsOf(value, '')]
  const width = Math.max(0, ...facts.map(([name]) => name.length))
  return facts.map(([name, value]) => `${name.padEnd(width)}  ${printable(value)}`)
}

function* factsOf(value: unknown, name: string): Generator<[string, string]> {
  if (typeof value !== 'object' || value === null) {
    yield [name, String(value)]
    return
  }
  for (const [key, below] of Object.entries(value)) {
    yield* factsOf(below, name === '' ? key : `${name}.${key}`)
  }
}

/** Money with its currency: `25.00 USD`; a dash for none. */
export function money(value: Money | undefined): string {
  if (value === undefined) return '-'
  return `${formatAmount(value.minorUnits, value.currency)} ${value.currency}`
}
